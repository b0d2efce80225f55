//! What one client can take of the gateway: connections, requests, time, and frames that ask for nothing.

use std::num::NonZeroUsize;
use std::time::Duration;

use http::Request;
use tidegate_server::clock::Clock;
use tidegate_server::gateway::Settings;

use crate::bed::{Bed, Wire, field};
use crate::http2::{Answer, Client};

const SOON: Duration = Duration::from_millis(80);
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

#[test]
fn an_address_has_so_many_connections_over_all_workers() {
    let bed = Bed::with(|settings| {
        settings.workers = NonZeroUsize::new(3).unwrap();
        settings.bounds.connections_per_address = 2;
    });
    let mut kept: Vec<_> = (0..2).map(|_| bed.client()).collect();
    for client in &mut kept {
        client.send(GET);
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send(OK);
        client.head();
        client.take(2);
    }
    assert_eq!(bed.client().ended(), "");
    drop(kept.pop());
    // The place is free once the gateway has seen the end.
    let served = std::iter::repeat_with(|| bed.client())
        .take(1000)
        .any(|mut client| {
            client.send(GET.replace("\r\n\r\n", "\r\nConnection: close\r\nExpect: nothing\r\n\r\n"));
            client.ended().starts_with("HTTP/1.1 417 ")
        });
    assert!(served);
}

#[test]
fn requests_beside_others_on_http_2_count_like_connections() {
    let bed = Bed::with(|settings| settings.bounds.connections_per_address = 2);
    let mut client = Client::new(&bed);
    let (first, mut first_origin) = asked(&bed, &mut client);
    let (_second, _second_origin) = asked(&bed, &mut client);
    let (third, _) = client.send(get(), true);
    assert_eq!(client.head(third).status(), 503);
    assert_eq!(bed.client().ended(), "");
    first_origin.send(OK);
    assert_eq!(client.head(first).status(), 200);
    let (fourth, _) = client.send(get(), true);
    // Over the connection that is free again.
    first_origin.head();
    first_origin.send(OK);
    assert_eq!(client.head(fourth).status(), 200);
}

#[test]
fn a_trusted_proxy_has_as_many_requests_beside_others_as_it_likes() {
    let trusting = "gateway: { trusted_proxies: 127.0.0.1 }\npolicies: []";
    let bed = Bed::limited(trusting, "", Clock::system(), |settings: &mut Settings| {
        settings.bounds.connections_per_address = 1;
    });
    let mut client = Client::new(&bed);
    let all: Vec<_> = (0..3).map(|_| asked(&bed, &mut client)).collect();
    for (answer, mut origin) in all {
        origin.send(OK);
        assert_eq!(client.head(answer).status(), 200);
    }
}

fn get() -> Request<()> {
    Request::get("http://a.test/").body(()).unwrap()
}

/// A request that its origin has, and has not answered.
fn asked(bed: &Bed, client: &mut Client) -> (Answer, Wire) {
    let (answer, _) = client.send(get(), true);
    let mut origin = bed.origin.accept();
    origin.head();
    (answer, origin)
}

/// A gateway with two places, where nothing that rests ends by itself.
fn with_two_places() -> Bed {
    Bed::with(|settings| {
        settings.bounds.connections = 2;
        settings.timeouts.header = Duration::from_secs(600);
        settings.timeouts.keep_alive = Duration::from_secs(600);
    })
}

/// Sends a request over a new connection, which stays open.
fn served(bed: &Bed) -> Wire {
    let mut client = bed.client();
    client.send(GET.replace("GET", "HEAD"));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 200 "));
    client
}

#[test]
fn who_rests_longest_makes_room_and_who_is_being_served_does_not() {
    let bed = with_two_places();
    let mut busy = bed.client();
    busy.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    let mut first = served(&bed);
    let mut second = served(&bed);
    first.gone();
    drop(served(&bed));
    second.gone();
    origin.send(OK);
    assert!(busy.head().starts_with("HTTP/1.1 200 "));
}

#[test]
fn who_says_nothing_or_half_a_head_makes_room() {
    let bed = with_two_places();
    let mut silent = bed.client();
    let mut half = bed.client();
    half.send("GET / HTTP/1.1\r\nHost");
    let (mut one, mut two) = (served(&bed), served(&bed));
    silent.gone();
    let told = half.ended();
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{told}");
    for client in [&mut one, &mut two] {
        client.send("GET * HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(client.head().starts_with("HTTP/1.1 400 "));
    }
}

#[test]
fn a_trusted_proxy_has_as_many_connections_as_it_likes() {
    let trusting = "gateway: { trusted_proxies: 127.0.0.1 }\npolicies: []";
    let bed = Bed::limited(trusting, "", Clock::system(), |settings: &mut Settings| {
        settings.bounds.connections_per_address = 1;
    });
    let mut clients: Vec<_> = (0..3).map(|_| bed.client()).collect();
    for client in &mut clients {
        client.send(GET.replace("\r\n\r\n", "\r\nExpect: nothing\r\n\r\n"));
        assert!(client.head().starts_with("HTTP/1.1 417 "));
    }
}

#[test]
fn the_last_request_of_a_connection_says_so() {
    let bed = Bed::with(|settings| settings.bounds.requests_per_connection = 2);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    assert_eq!(field(&client.head(), "connection"), None);
    client.take(2);
    client.send(GET.repeat(2));
    origin.head();
    origin.send(OK);
    let rest = client.rest();
    assert_eq!(field(&rest, "connection"), Some("close"));
    assert!(rest.ends_with("\r\n\r\nhi"), "{rest}");
}

#[test]
fn an_old_connection_ends_once_it_rests() {
    let bed = Bed::with(|settings| settings.timeouts.connection = SOON);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    assert_eq!(client.rest(), "hi");
}

#[test]
fn a_request_in_flight_on_an_old_connection_is_answered_and_is_the_last() {
    let bed = Bed::with(|settings| {
        settings.timeouts.connection = Duration::from_millis(1);
        settings.timeouts.header = SOON;
    });
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    // A silent client is let go after the first one's age, many times over.
    let mut other = bed.client();
    other.gone();
    origin.send(OK);
    let rest = client.rest();
    assert!(
        rest.starts_with("HTTP/1.1 200 ") && rest.ends_with("hi"),
        "{rest}"
    );
    assert_eq!(field(&rest, "connection"), Some("close"));
}

#[test]
fn a_body_that_drips_is_408_long_before_it_is_idle() {
    let bed = Bed::with(|settings| {
        settings.timeouts.body_grace = SOON;
        settings.bounds.body_rate = 1000;
    });
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    client.send("x");
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains(r#""error":"request_body_timeout""#), "{answer}");
    origin.gone();
}

#[test]
fn a_body_that_drips_after_the_response_began_ends_the_connection() {
    let bed = Bed::with(|settings| {
        settings.timeouts.body_grace = SOON;
        settings.bounds.body_rate = 1000;
    });
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
    let mut origin = bed.origin.accept();
    origin.until(b"x\r\n");
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n");
    client.until(b"hi\r\n");
    origin.gone();
    client.gone();
}

/// An HTTP/2 client that says hello in frames.
fn frames(bed: &Bed) -> Wire {
    let mut client = bed.client();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send(frame(4, 0, 0, b""));
    client
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The error code of the GOAWAY in `bytes`.
fn goaway(bytes: &[u8]) -> Option<u32> {
    let mut rest = bytes;
    while rest.len() >= 9 {
        let length = usize::from(rest[0]) << 16 | usize::from(rest[1]) << 8 | usize::from(rest[2]);
        let (kind, payload) = (rest[3], rest.get(9..9 + length)?);
        if kind == 7 {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
        rest = &rest[9 + length..];
    }
    None
}

const ENHANCE_YOUR_CALM: u32 = 11;

#[test]
fn a_head_in_endless_continuations_ends_the_connection() {
    let bed = Bed::new();
    let mut client = frames(&bed);
    client.send(frame(1, 0, 1, b""));
    let continuation = frame(9, 0, 1, b"");
    // What is sent after the gateway has closed may fail.
    let sent = (0..10_000).take_while(|_| client.try_send(&continuation)).count();
    assert_eq!(goaway(&client.ended_bytes()), Some(ENHANCE_YOUR_CALM));
    assert!(sent > 1);
    assert!(!bed.origin.was_asked());
}

#[test]
fn streams_that_are_reset_before_they_are_looked_at_end_the_connection() {
    let bed = Bed::new();
    let mut client = frames(&bed);
    // :method GET, :scheme http, :path /, :authority a.
    let head = b"\x82\x86\x84\x41\x01a";
    let mut flood = Vec::new();
    for stream in (1..200).step_by(2) {
        flood.extend(frame(1, 5, stream, head));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    client.send(flood);
    assert_eq!(goaway(&client.ended_bytes()), Some(ENHANCE_YOUR_CALM));
}

#[test]
fn a_client_that_floods_and_reads_nothing_is_let_go() {
    for kind in [4, 6] {
        let bed = Bed::with(|settings| settings.timeouts.body = SOON);
        let mut client = frames(&bed);
        let payload: &[u8] = if kind == 6 { &[0; 8] } else { b"" };
        let flood = frame(kind, 0, 0, payload).repeat(1000);
        let sent = (0..100_000).take_while(|_| client.try_send(&flood)).count();
        assert!(sent < 100_000, "frames of kind {kind} are taken for ever");
        client.gone();
    }
}
