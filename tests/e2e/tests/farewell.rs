//! A stop at the doors of HTTP/2, before proxies that speak it by hand: what is asked is answered, who rests is sent away, and balancers
//! are told to go elsewhere.

use std::io::Read as _;
use std::net::TcpStream;

use tidegate_e2e::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, block, call, frame, get};
use tidegate_e2e::{Gateway, Http2, until};

const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// A call to the domain `shop` of one descriptor, `user` is `ann`.
const ANN: &[u8] = b"\x0a\x04shop\x12\x0d\x0a\x0b\x0a\x04user\x12\x03ann";
/// About all services; what is told of them.
const ALL: &[u8] = b"";
const SERVING: &[u8] = b"\0\0\0\0\x02\x08\x01";
const NOT_SERVING: &[u8] = b"\0\0\0\0\x02\x08\x02";

fn waits(door: &Gateway) {
    until("somebody waits", || {
        (door.metric("tidegate_requests_waiting") > 0.0).then_some(())
    });
}

#[test]
fn envoys_call_is_answered_and_the_health_of_a_door_that_closes_is_told() {
    let door = Gateway::doors_and_admin(
        "
doors: { envoy: 0 }
policies:
  - name: slow
    match: { domain: shop, descriptor: [user] }
    limit: { algorithm: leaky_bucket, quota: 1, window: 3s, max_delay: 20s }
",
    );
    let [mut rests, mut watches, mut asks] = [(); 3].map(|()| Http2::connect(door.address()));
    asks.keeps_silent();
    rests.send(&call(1, CHECK, ALL));
    assert_eq!(rests.message(1), SERVING);
    watches.send(&call(1, WATCH, ALL));
    assert_eq!(watches.message(1), SERVING);
    for stream in [1, 3] {
        asks.send(&call(stream, RATE_LIMIT, ANN));
    }
    waits(&door);
    door.ask_to_stop();
    rests.is_left();
    assert_eq!(watches.message(1), NOT_SERVING);
    watches.ends(1);
    // Before it has heard that it is to leave.
    asks.send(&call(5, CHECK, ALL));
    assert_eq!(asks.message(5), NOT_SERVING);
    assert!(asks.message(3)[5..].starts_with(b"\x08\x01"), "the call may pass");
    asks.agrees();
    drop(watches);
    assert_eq!(door.ended(), Some(0));
}

#[test]
fn who_watches_an_unknown_service_is_told_so_and_let_go_at_the_end() {
    let door = Gateway::doors("doors: { envoy: 0 }");
    let mut proxy = Http2::connect(door.address());
    proxy.send(&call(1, WATCH, b"\x0a\x04else"));
    assert_eq!(proxy.message(1), b"\0\0\0\0\x02\x08\x03");
    door.ask_to_stop();
    proxy.ends(1);
    drop(proxy);
    assert_eq!(door.ended(), Some(0));
}

#[test]
fn a_question_is_answered_and_the_health_of_a_door_that_closes_is_told() {
    let door = Gateway::doors_and_admin(
        "
doors: { check: 0 }
policies:
  - name: slow
    key: [client.ip]
    limit: { algorithm: leaky_bucket, quota: 1, window: 3s, max_delay: 20s }
",
    );
    let [mut rests, mut asks] = [(); 2].map(|()| Http2::connect(door.address()));
    asks.keeps_silent();
    let mut rests_on_http_1 = TcpStream::connect(door.address()).unwrap();
    rests.send(&get(1, "/healthz"));
    assert_eq!(rests.message(1), b"ok\n");
    let question = br#"{"request":{"method":"GET","path":"/","client":"203.0.113.5"}}"#;
    let head = block(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/v1/check"),
        (":authority", "tidegate"),
    ]);
    for stream in [1, 3] {
        asks.send(&frame(HEADERS, END_HEADERS, stream, &head));
        asks.send(&frame(DATA, END_STREAM, stream, question));
    }
    waits(&door);
    door.ask_to_stop();
    rests.is_left();
    assert_eq!(rests_on_http_1.read(&mut [0]).unwrap(), 0);
    asks.send(&get(5, "/healthz"));
    assert_eq!(asks.message(5), b"draining\n");
    let answer = asks.message(3);
    assert!(String::from_utf8_lossy(&answer).contains(r#""allowed":true"#));
    asks.agrees();
    assert_eq!(door.ended(), Some(0));
}
