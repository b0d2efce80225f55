//! More calls than can be answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::*;

const POLICIES: &str = "
policies:
  - { name: all, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 1000000000, window: 1h } }
";

/// Connections of the flood, and calls at a time on each.
const CONNECTIONS: usize = 12;
const CALLS: usize = 100;

#[test]
fn a_flood_is_refused_at_once_and_when_it_is_over_calls_are_answered() {
    let (bed, _) = door(POLICIES);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let refused = Arc::new(Notify::new());
    let over = Arc::new(AtomicBool::new(false));
    let address = bed.address;
    // Easily sent, and long to read, so that the flood is not what holds itself back.
    let long = descriptor(&[("other", ""); 12]);
    let body = Bytes::from(framed(call("shop", &vec![long; 64]).bytes()));
    for _ in 0..CONNECTIONS {
        let (refused, over, body) = (refused.clone(), over.clone(), body.clone());
        runtime.spawn(async move {
            let stream = TcpStream::connect(address).await.unwrap();
            let (calls, connection) = handshake(stream).await.unwrap();
            tokio::spawn(connection);
            for _ in 0..CALLS {
                let (calls, refused, over, body) =
                    (calls.clone(), refused.clone(), over.clone(), body.clone());
                tokio::spawn(async move {
                    while !over.load(Ordering::Relaxed) {
                        if ask(calls.clone(), body.clone()).await == Some(14) {
                            refused.notify_one();
                        }
                    }
                });
            }
        });
    }
    let refusal = async { tokio::time::timeout(PATIENCE, refused.notified()).await };
    runtime.block_on(refusal).expect("somebody is refused");
    over.store(true, Ordering::Relaxed);
    let mut envoy = Envoy::at(&bed);
    let asked = call("shop", &[descriptor(&[("user", "ann")])]);
    let mut statuses = std::iter::repeat_with(|| envoy.call(RATE_LIMIT, &asked).status.0).take(10_000);
    assert!(statuses.any(|status| status == 0), "calls are answered again");
}

/// The status of an error without a message; none if there was a message.
async fn ask(calls: SendRequest<Bytes>, body: Bytes) -> Option<u32> {
    let mut calls = calls.ready().await.ok()?;
    let request = Request::post(format!("http://tidegate{RATE_LIMIT}"))
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let (answer, mut upload) = calls.send_request(request, false).ok()?;
    // Whoever is refused at once is not listened to.
    let _ = upload.send_data(body, true);
    let response = answer.await.ok()?;
    let status = response.headers().get("grpc-status")?.to_str().ok()?;
    status.parse().ok()
}
