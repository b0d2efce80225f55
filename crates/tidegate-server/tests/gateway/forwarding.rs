//! What the origin and the client see of each other.

use std::time::Duration;

use crate::bed::{Bed, Wire, field, fields};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: today\r\n\r\nhi";

#[test]
fn a_request_and_its_response_pass_with_their_fields() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET /a%20b?c=d HTTP/1.1\r\nHost: a.test\r\nX-One: 1\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 201 Created\r\ncontent-length: 2\r\ndate: today\r\nx-two: 2\r\n\r\nhi",
    );
    assert!(
        passed.seen_by_origin.starts_with("GET /a%20b?c=d HTTP/1.1\r\n"),
        "{}",
        passed.seen_by_origin
    );
    assert_eq!(
        fields(&passed.seen_by_origin),
        [
            "host: a.test",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: a.test",
            "x-forwarded-proto: http",
            "x-one: 1",
            "x-tidegate-verdict: pass",
        ]
    );
    assert!(passed.seen_by_client.starts_with("HTTP/1.1 201 Created\r\n"));
    assert!(passed.seen_by_client.ends_with("\r\n\r\nhi"));
    assert_eq!(field(&passed.seen_by_client, "x-two"), Some("2"));
    assert_eq!(field(&passed.seen_by_client, "connection"), Some("close"));
}

#[test]
fn hop_by_hop_fields_end_at_the_gateway_in_both_directions() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: 5\r\n\
         Proxy-Connection: close\r\nProxy-Authorization: Basic eA==\r\nTE: gzip\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: today\r\nconnection: keep-alive, x-inner\r\nx-inner: 1\r\n\
         keep-alive: timeout=5\r\nproxy-authenticate: Basic\r\nupgrade: h2c\r\n\r\nhi",
    );
    assert_eq!(
        fields(&passed.seen_by_origin),
        [
            "host: a.test",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: a.test",
            "x-forwarded-proto: http",
            "x-tidegate-verdict: pass"
        ]
    );
    assert_eq!(
        fields(&passed.seen_by_client),
        ["connection: close", "content-length: 2", "date: today"]
    );
}

#[test]
fn connections_are_kept_on_both_sides() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let mut origin = bed.origin.accept();
    for turn in 1..=3 {
        assert!(origin.head().starts_with(&format!("GET /{turn} ")));
        origin.send(OK);
        assert!(client.head().starts_with("HTTP/1.1 200 OK\r\n"));
        assert_eq!(client.take(2), "hi");
        client.send(format!("GET /{} HTTP/1.1\r\nHost: a.test\r\n\r\n", turn + 1));
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut origin = bed.origin.accept();
    assert!(origin.head().starts_with("GET /1 "));
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1");
    assert!(origin.head().starts_with("GET /2 "));
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n2");
    client.head();
    assert_eq!(client.take(1), "1");
    client.head();
    assert_eq!(client.take(1), "2");
}

#[test]
fn an_http_1_0_client_gets_a_body_that_ends_with_the_connection() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    );
    assert!(passed.seen_by_origin.starts_with("GET / HTTP/1.1\r\n"));
    assert_eq!(
        field(&passed.seen_by_origin, "host"),
        Some(bed.origin.address().to_string().as_str())
    );
    assert!(passed.seen_by_client.starts_with("HTTP/1.0 200 OK\r\n"));
    assert_eq!(field(&passed.seen_by_client, "transfer-encoding"), None);
    assert!(passed.seen_by_client.ends_with("\r\n\r\nhi"));
}

#[test]
fn an_http_1_0_client_may_keep_its_connection() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    let head = client.head();
    assert_eq!(field(&head, "connection"), Some("keep-alive"));
    assert_eq!(client.take(2), "hi");
    client.send("GET /again HTTP/1.0\r\n\r\n");
    assert!(origin.head().starts_with("GET /again "));
}

#[test]
fn the_length_of_a_head_response_is_told_without_a_body() {
    let bed = Bed::new();
    let passed = bed.pass(
        "HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 12345\r\n\r\n",
    );
    assert_eq!(field(&passed.seen_by_client, "content-length"), Some("12345"));
    assert!(passed.seen_by_client.ends_with("\r\n\r\n"));
}

#[test]
fn responses_without_a_body_by_definition_end_at_their_head() {
    for status in ["204 No Content", "304 Not Modified"] {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send(format!("HTTP/1.1 {status}\r\netag: \"1\"\r\n\r\n"));
        let head = client.head();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        assert_eq!(field(&head, "transfer-encoding"), None);
        // The same connection carries the next one, so neither side waited for a body.
        assert!(origin.head().starts_with("GET /2 "));
    }
}

#[test]
fn a_resting_connection_that_the_origin_closed_is_replaced() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    client.take(2);
    drop(origin);
    client.send("POST /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx");
    let mut origin = bed.origin.accept();
    assert!(origin.head().starts_with("POST /2 "));
    origin.send(OK);
    assert!(client.head().starts_with("HTTP/1.1 200 "));
}

/// Leaves a connection to the origin resting for longer than it is taken for alive without doubt.
fn long_rested(bed: &Bed) -> (Wire, Wire) {
    let mut client = bed.client();
    client.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    client.take(2);
    // A client that says nothing is let go after the header timeout, which is the longer time.
    bed.client().rest();
    (client, origin)
}

#[test]
fn what_may_be_sent_twice_is_sent_again_when_a_resting_connection_closes_under_it() {
    let bed = Bed::with(|settings| settings.timeouts.header = Duration::from_millis(300));
    let (mut client, mut origin) = long_rested(&bed);
    client.send("PUT /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
    assert!(origin.head().starts_with("PUT /2 "));
    drop(origin);
    let mut origin = bed.origin.accept();
    assert!(origin.head().starts_with("PUT /2 "));
    origin.send(OK);
    assert!(client.head().starts_with("HTTP/1.1 200 "));
}

#[test]
fn what_may_not_be_sent_twice_is_sent_once() {
    for request in [
        "POST /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n",
        "PUT /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi",
    ] {
        let bed = Bed::with(|settings| settings.timeouts.header = Duration::from_millis(300));
        let (mut client, mut origin) = long_rested(&bed);
        client.send(request);
        origin.head();
        drop(origin);
        assert!(client.head().starts_with("HTTP/1.1 502 "));
        assert!(!bed.origin.was_asked());
    }
}

#[test]
fn via_is_added_in_both_directions_when_asked_for() {
    let bed = Bed::with(|settings| {
        settings.via = Some(http::HeaderValue::from_static("1.1 tidegate"));
    });
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a.test\r\nVia: 1.0 first\r\nConnection: close\r\n\r\n",
        OK,
    );
    assert_eq!(
        field(&passed.seen_by_origin, "via"),
        Some("1.0 first, 1.1 tidegate")
    );
    assert_eq!(field(&passed.seen_by_client, "via"), Some("1.1 tidegate"));
}

#[test]
fn a_stranger_cannot_say_who_it_is() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.1.1.1\r\nX_Forwarded_For: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\n\
         X-Real-IP: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nConnection: close, x-forwarded-for\r\n\r\n",
        OK,
    );
    assert_eq!(
        fields(&passed.seen_by_origin),
        [
            "host: a.test",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: a.test",
            "x-forwarded-proto: http",
            "x-tidegate-verdict: pass"
        ]
    );
}
