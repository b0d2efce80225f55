//! Servers on free ports, and a client.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::health_client::HealthClient;

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: StatusCode,
    pub(crate) fields: HeaderMap,
    pub(crate) text: String,
}

impl Heard {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

pub(crate) async fn listener() -> (SocketAddr, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (listener.local_addr().unwrap(), listener)
}

/// Serves `router`, whose requests know their peer.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let (address, listener) = listener().await;
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    address
}

/// The peer that axum tells of.
pub(crate) fn peer(request: &Parts) -> Option<std::net::IpAddr> {
    Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.ip())
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Request<Empty<bytes::Bytes>> {
    let request = Request::get(format!("http://{address}{path}"));
    request.body(Empty::new()).unwrap()
}

/// The head of the response has come, its body has not.
pub(crate) async fn send(request: Request<Empty<bytes::Bytes>>) -> Response<hyper::body::Incoming> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    client.request(request).await.unwrap()
}

pub(crate) async fn hear(request: Request<Empty<bytes::Bytes>>) -> Heard {
    let (head, body) = send(request).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Heard {
        status: head.status,
        fields: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

/// A client of the health service at `address`.
pub(crate) async fn health_client(address: SocketAddr) -> HealthClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}
