//! Upgraded connections carry bytes that the gateway does not look at.

use std::time::Duration;

use crate::bed::{Bed, Wire, field, fields};

const ASK: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const AGREE: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn upgraded(bed: &Bed) -> (Wire, Wire) {
    let mut client = bed.client();
    client.send(ASK);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(AGREE);
    assert!(client.head().starts_with("HTTP/1.1 101 "));
    (client, origin)
}

#[test]
fn a_websocket_handshake_passes_with_its_fields() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(ASK);
    let mut origin = bed.origin.accept();
    let asked = origin.head();
    assert_eq!(field(&asked, "connection"), Some("upgrade"));
    assert_eq!(field(&asked, "upgrade"), Some("websocket"));
    assert_eq!(
        field(&asked, "sec-websocket-key"),
        Some("dGhlIHNhbXBsZSBub25jZQ==")
    );
    origin.send(AGREE);
    let agreed = client.head();
    assert!(agreed.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    let mut told = fields(&agreed);
    told.retain(|line| !line.starts_with("date: "));
    assert_eq!(
        told,
        [
            "connection: upgrade",
            "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "upgrade: websocket"
        ]
    );
}

#[test]
fn bytes_pass_both_ways_even_those_that_came_with_the_handshake() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(format!("{ASK}early from client"));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(format!("{AGREE}early from origin"));
    client.head();
    assert_eq!(client.take(17), "early from origin");
    assert_eq!(origin.take(17), "early from client");
    for turn in 0..3 {
        client.send(format!("ping {turn}"));
        assert_eq!(origin.take(6), format!("ping {turn}"));
        origin.send(format!("pong {turn}"));
        assert_eq!(client.take(6), format!("pong {turn}"));
    }
}

#[test]
fn an_end_that_has_finished_may_still_listen() {
    let bed = Bed::new();
    let (mut client, mut origin) = upgraded(&bed);
    client.send("last words");
    client.finish();
    assert_eq!(origin.rest(), "last words");
    origin.send("an answer");
    origin.finish();
    assert_eq!(client.rest(), "an answer");
}

#[test]
fn an_origin_that_refuses_the_upgrade_answers_as_usual() {
    let bed = Bed::new();
    let passed = bed.pass(
        &ASK.replace("keep-alive", "close"),
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno",
    );
    assert!(passed.seen_by_client.starts_with("HTTP/1.1 403 "));
    assert!(passed.seen_by_client.ends_with("no"));
}

#[test]
fn an_upgrade_to_another_http_is_not_passed_on() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
    );
    assert_eq!(field(&passed.seen_by_origin, "upgrade"), None);
    assert_eq!(field(&passed.seen_by_origin, "http2-settings"), None);
}

#[test]
fn a_tunnel_that_carries_nothing_ends() {
    let bed = Bed::with(|settings| settings.timeouts.tunnel = Duration::from_millis(80));
    let (mut client, mut origin) = upgraded(&bed);
    assert_eq!(client.ended(), "");
    assert_eq!(origin.ended(), "");
}
