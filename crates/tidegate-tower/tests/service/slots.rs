//! Slots of concurrency limits.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::routing::get as route;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use tidegate_tower::RateLimit;

use crate::web::{get, hear, peer, send, serve};

const POLICIES: &str =
    "policies: [{ name: one, key: [client.ip], limit: { algorithm: concurrency, slots: 1 } }]";

#[tokio::test]
async fn a_slot_is_given_back_when_the_response_has_ended_and_not_before() {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let kept = senders.clone();
    let stream = async move || {
        let (sender, body) = Channel::<Bytes>::new(1);
        kept.lock().unwrap().push(sender);
        Body::new(body)
    };
    let router = Router::new()
        .route("/stream", route(stream))
        .route("/", route(async || "short"));
    let address = serve(router.layer(RateLimit::from_yaml(POLICIES).unwrap().peer(peer))).await;

    let first = send(get(address, "/stream")).await;
    assert_eq!(first.status(), 200);
    assert_eq!(hear(get(address, "/")).await.status, 429);
    senders.lock().unwrap().clear();
    first.into_body().collect().await.unwrap();
    for _ in 0..3 {
        assert_eq!(hear(get(address, "/")).await.text, "short");
    }

    // A client that leaves gives it back as well.
    drop(send(get(address, "/stream")).await);
    let mut sender = senders.lock().unwrap().pop().unwrap();
    while sender.send_data(Bytes::from_static(b"more")).await.is_ok() {}
    assert_eq!(hear(get(address, "/")).await.text, "short");
}
