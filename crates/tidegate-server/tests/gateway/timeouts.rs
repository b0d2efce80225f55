//! Everything that can take too long ends, and says so where somebody listens.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::time::Duration;

use tidegate_server::clock::Clock;
use tidegate_server::gateway::Settings;

use crate::bed::{Bed, field};

/// Short enough to wait for, and long enough for a busy machine where it must not pass.
const SOON: Duration = Duration::from_millis(80);

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

#[track_caller]
fn assert_problem(answer: &str, status: &str, error: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
    assert_eq!(
        field(answer, "content-type"),
        Some("application/json"),
        "{answer}"
    );
    assert!(answer.contains(&format!(r#""error":"{error}""#)), "{answer}");
}

#[test]
fn a_head_that_does_not_come_to_its_end_is_408() {
    let bed = Bed::with(|settings| settings.timeouts.header = SOON);
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n");
    assert!(client.rest().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
}

#[test]
fn a_later_head_that_does_not_come_to_its_end_is_408() {
    let bed = Bed::with(|settings| settings.timeouts.header = SOON);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    client.take(2);
    client.send("GET / HT");
    assert!(client.rest().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
}

#[test]
fn a_client_that_says_nothing_is_let_go() {
    let bed = Bed::with(|settings| settings.timeouts.header = SOON);
    assert_eq!(bed.client().rest(), "");
}

#[test]
fn a_connection_between_requests_is_let_go_without_a_word() {
    let bed = Bed::with(|settings| settings.timeouts.keep_alive = SOON);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    assert_eq!(client.rest(), "hi");
}

/// A gateway before the origin at `address`.
fn before(address: &str, change: impl FnOnce(&mut Settings)) -> Bed {
    let file = format!("gateway: {{ upstream: \"http://{address}\" }}\npolicies: []");
    Bed::limited(&file, "", Clock::system(), change)
}

#[test]
fn an_upstream_that_is_not_there_is_502() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bed = before(&closed.to_string(), |_| {});
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_problem(&client.rest(), "502 Bad Gateway", "upstream_unreachable");
}

#[test]
fn an_upstream_that_takes_no_connection_is_504() {
    // A listener whose queue is full: the kernel lets further connections wait.
    let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    full.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into())
        .unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let queued = std::net::TcpStream::connect(address).unwrap();
    let bed = before(&address.to_string(), |settings| settings.timeouts.connect = SOON);
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_problem(&client.rest(), "504 Gateway Timeout", "upstream_connect_timeout");
    drop(queued);
}

#[test]
fn an_upstream_that_does_not_respond_is_504() {
    let bed = Bed::with(|settings| settings.timeouts.response = SOON);
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    assert_problem(&client.rest(), "504 Gateway Timeout", "upstream_response_timeout");
    origin.gone();
}

#[test]
fn an_upstream_that_closes_instead_of_responding_is_502() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    drop(origin);
    assert_problem(&client.rest(), "502 Bad Gateway", "upstream_closed");
}

#[test]
fn a_request_body_that_stops_coming_is_408() {
    let bed = Bed::with(|settings| settings.timeouts.body = SOON);
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhi");
    let mut origin = bed.origin.accept();
    origin.until(b"hi");
    assert_problem(&client.rest(), "408 Request Timeout", "request_body_timeout");
    origin.gone();
}

#[test]
fn a_response_body_that_stops_coming_ends_the_connection() {
    let bed = Bed::with(|settings| settings.timeouts.body = SOON);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi");
    client.until(b"hi");
    assert_eq!(client.ended(), "");
    origin.gone();
}

#[test]
fn a_client_that_does_not_read_is_let_go() {
    let bed = Bed::with(|settings| settings.timeouts.body = SOON);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
        1_u64 << 40
    ));
    origin.send_until_blocked(usize::MAX);
    origin.gone();
    drop(client);
}

#[test]
fn a_body_longer_than_the_bound_is_413() {
    let bed = Bed::with(|settings| settings.bounds.body_bytes = 4);
    let answer = bed.answer("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");

    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n");
    let mut origin = bed.origin.accept();
    origin.until(b"1234\r\n");
    client.send("1\r\n5\r\n");
    assert!(client.head().starts_with("HTTP/1.1 413 "));
    assert_eq!(origin.ended(), "");

    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n1234");
    assert!(bed.origin.accept().until(b"1234").ends_with("1234"));
}

#[test]
fn more_connections_than_the_bound_wait_while_all_are_being_served() {
    let bed = Bed::with(|settings| settings.bounds.connections = 1);
    let mut first = bed.client();
    first.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n");
    first.head();
    let mut second = bed.client();
    second.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n");
    // The gateway takes turns: if it had taken the second client, the origin would be asked between these.
    for _ in 0..19 {
        origin.send("x");
        assert_eq!(first.take(1), "x");
    }
    assert!(!bed.origin.was_asked());
    // Now the first one rests, and makes room.
    origin.send("x");
    assert_eq!(first.take(1), "x");
    assert!(origin.head().starts_with("GET /second "));
}

#[test]
fn more_upstream_connections_than_the_bound_are_503() {
    let bed = Bed::with(|settings| settings.bounds.upstream_connections = 1);
    let mut first = bed.client();
    first.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    let answer = bed.answer(GET);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    origin.send(OK);
    assert!(first.head().starts_with("HTTP/1.1 200 "));
}

#[test]
fn several_workers_share_one_address() {
    let bed = Bed::with(|settings| settings.workers = NonZeroUsize::new(3).unwrap());
    let mut clients: Vec<_> = (0..12).map(|_| bed.client()).collect();
    for client in &mut clients {
        client.send(GET);
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi");
        client.head();
        assert_eq!(client.take(2), "hi");
    }
}
