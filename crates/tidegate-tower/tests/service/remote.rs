//! The layer before a service that asks a check door. The door here says what it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get as route, post};
use http::HeaderMap;
use serde_json::{Value, json};
use tidegate_tower::client::Client;
use tidegate_tower::{Builder, OnFailure, RateLimit, Remote};
use tonic::Code;
use tonic::transport::Server;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::server::health_reporter;

use crate::web::{get, health_client, hear, listener, peer, serve};

/// What the door was asked.
type Asked = Arc<Mutex<Vec<Value>>>;

/// A door that gives always the same answer.
async fn door(status: u16, answer: Value) -> (Client, Asked) {
    let asked = Asked::default();
    let kept = asked.clone();
    let answers = async move |question: String| {
        kept.lock()
            .unwrap()
            .push(serde_json::from_str(&question).unwrap());
        (StatusCode::from_u16(status).unwrap(), answer.to_string())
    };
    let address = serve(Router::new().route("/v1/check", post(answers))).await;
    (client(address), asked)
}

fn client(door: SocketAddr) -> Client {
    let client = Client::new(&format!("http://{door}")).unwrap();
    // The machine may be busy; what a test waits for is never this.
    client.with_timeout(Duration::from_secs(60))
}

/// A service behind `remote` that says what it was told.
async fn service(remote: Remote) -> SocketAddr {
    let told = async |fields: HeaderMap| {
        let ours = fields
            .iter()
            .filter(|(name, _)| name.as_str().starts_with("x-tidegate"));
        let mut told: Vec<_> = ours
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        told.sort();
        told.join(", ")
    };
    let router = Router::new().route("/items", route(told));
    serve(router.layer(RateLimit::new(remote).peer(peer))).await
}

/// The address of a door at which nobody is.
async fn nobody() -> SocketAddr {
    listener().await.0
}

#[tokio::test]
async fn a_request_passes_with_what_the_door_says_for_both_sides() {
    let (client, asked) = door(
        200,
        json!({
            "allowed": true, "status": 200, "limits": [],
            "client_fields": { "x-ratelimit-remaining": "4" },
            "origin_fields": { "x-tidegate-verdict": "pass", "x-tidegate-remaining": "4" },
        }),
    )
    .await;
    let address = service(Remote::new(client)).await;
    let mut request = get(address, "/items?page=2");
    for name in ["x-tidegate-subject", "x_tidegate_tier"] {
        request.headers_mut().insert(name, "forged".parse().unwrap());
    }
    let heard = hear(request).await;
    assert_eq!(heard.text, "x-tidegate-remaining: 4, x-tidegate-verdict: pass");
    assert_eq!(heard.field("x-ratelimit-remaining"), Some("4"));
    let asked = asked.lock().unwrap();
    let expected = json!({ "request": {
        "method": "GET", "path": "/items?page=2", "client": "127.0.0.1", "host": address.to_string(), "headers": {},
    }});
    assert_eq!(*asked, [expected]);
}

#[tokio::test]
async fn a_refused_request_gets_the_answer_of_the_door() {
    let (client, _) = door(
        200,
        json!({
            "allowed": false, "status": 429, "error": "rate_limit_exceeded", "retry_after_ms": 11_500,
            "client_fields": { "retry-after": "12", "content-type": "application/problem+json" },
            "body": r#"{"error":"rate_limit_exceeded"}"#,
        }),
    )
    .await;
    let address = service(Remote::new(client)).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(
        (heard.status.as_u16(), heard.field("retry-after")),
        (429, Some("12"))
    );
    assert_eq!(heard.json()["error"], "rate_limit_exceeded");
}

#[tokio::test]
async fn while_the_door_is_gone_requests_pass_or_do_not_as_was_chosen() {
    let client = client(nobody().await);
    let address = service(Remote::new(client.clone())).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(
        heard.text,
        "x-tidegate-failure: unavailable, x-tidegate-verdict: pass"
    );
    assert_eq!(heard.field("x-tidegate-failure"), Some("unavailable"));

    let address = service(Remote::new(client.clone()).on_failure(OnFailure::Deny)).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(heard.status, 503);
    assert_eq!(heard.json()["error"], "limiter_failed");

    let policies = "policies: [{ name: one, key: [client.ip], limit: { quota: 1, window: 1m } }]";
    let limiter = Builder::from_yaml(policies).unwrap().build_alone().unwrap();
    let address = service(Remote::new(client).falling_back_to(limiter)).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(
        heard.text,
        "x-tidegate-failure: unavailable, x-tidegate-remaining: 0, x-tidegate-verdict: pass"
    );
    assert_eq!(heard.field("x-ratelimit-remaining"), Some("0"));
    let refused = hear(get(address, "/items")).await;
    assert_eq!(
        (refused.status.as_u16(), refused.field("x-tidegate-failure")),
        (429, Some("unavailable"))
    );
}

#[tokio::test]
async fn whose_request_it_is_does_not_change_with_who_decides() {
    let policies = "
gateway: { trusted_hops: 1 }
policies: [{ name: one, key: [client.ip], limit: { quota: 1, window: 1m } }]
";
    let limiter = Builder::from_yaml(policies).unwrap().build_alone().unwrap();
    let address = service(Remote::new(client(nobody().await)).falling_back_to(limiter)).await;
    for (forwarded, status) in [("198.51.100.1", 200), ("198.51.100.2", 429)] {
        let mut request = get(address, "/items");
        request
            .headers_mut()
            .insert("x-forwarded-for", forwarded.parse().unwrap());
        assert_eq!(hear(request).await.status.as_u16(), status, "{forwarded}");
    }
}

#[tokio::test]
async fn a_door_that_is_silent_is_given_up() {
    // It takes connections and reads nothing.
    let (address, _listener) = listener().await;
    let client = Client::new(&format!("http://{address}")).unwrap();
    let address = service(Remote::new(client)).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(heard.field("x-tidegate-failure"), Some("timeout"));
}

#[tokio::test]
async fn a_request_that_the_door_does_not_understand_never_passes() {
    let (client, _) = door(400, json!({ "error": "bad_question" })).await;
    let address = service(Remote::new(client)).await;
    let heard = hear(get(address, "/items")).await;
    assert_eq!(heard.status, 400);
    assert_eq!(heard.json()["error"], "request_unclear");
}

#[tokio::test]
async fn calls_of_grpc_learn_by_their_status_that_nobody_decides() {
    let remote = Remote::new(client(nobody().await)).on_failure(OnFailure::Deny);
    let limits = RateLimit::new(remote).peer(|request| {
        let connection = request.extensions.get::<TcpConnectInfo>()?;
        Some(connection.remote_addr()?.ip())
    });
    let (address, listener) = listener().await;
    let (_reporter, health) = health_reporter();
    let server = Server::builder().layer(limits).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let mut client = health_client(address).await;
    let refused = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
}
