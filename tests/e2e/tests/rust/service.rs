//! A door that starts again where it was, and services in front of it.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::request::Parts;
use tidegate_e2e::{Gateway, PATIENCE, Port};
use tidegate_tower::client::Client;
use tidegate_tower::{RateLimit, Remote};
use tokio::net::TcpListener;

/// Two requests of a client, and three of a user in a domain.
pub(crate) const POLICIES: &str = "
  - { name: two, match: { path: /** }, key: [client.ip], limit: { quota: 2, window: 1h } }
  - { name: per-user, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 3, window: 1h } }
  - { name: free, match: { domain: shop, descriptor: [{ user: root }] }, limit: unlimited }
";

/// A door at `port` with these policies.
pub(crate) fn door(port: &Port, policies: &str) -> Gateway {
    Gateway::doors(&format!(
        "doors: {{ check: {} }}\npolicies:\n{policies}",
        port.number()
    ))
}

/// A client that waits: the machine may be busy, and what a test waits for is never this.
pub(crate) fn client(port: &Port) -> Client {
    hasty(port).with_timeout(PATIENCE)
}

/// A client as it comes.
pub(crate) fn hasty(port: &Port) -> Client {
    Client::new(&format!("http://127.0.0.1:{}", port.number())).unwrap()
}

/// A client that does not wait for a door that is still.
pub(crate) fn impatient(port: &Port) -> Client {
    hasty(port).with_timeout(Duration::from_millis(50))
}

/// The URL of a service of axum behind `remote`.
pub(crate) async fn service(remote: Remote) -> String {
    let limits = RateLimit::new(remote).peer(peer);
    let router = Router::new().route("/hello", get(async || "hello")).layer(limits);
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/hello")
}

fn peer(request: &Parts) -> Option<std::net::IpAddr> {
    Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.ip())
}
