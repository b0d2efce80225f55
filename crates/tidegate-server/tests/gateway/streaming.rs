//! Bodies pass as they come, and a body that breaks off never looks whole.

use std::time::Duration;

use crate::bed::{Bed, field};

#[test]
fn chunks_pass_one_by_one_in_both_directions() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    client.send("3\r\none\r\n");
    assert_eq!(origin.until(b"one\r\n"), "3\r\none\r\n");
    client.send("3\r\ntwo\r\n");
    assert_eq!(origin.until(b"two\r\n"), "3\r\ntwo\r\n");

    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    client.head();
    origin.send("1\r\na\r\n");
    assert_eq!(client.until(b"a\r\n"), "1\r\na\r\n");
    // The request is not over yet, and neither is the response.
    client.send("0\r\n\r\n");
    assert_eq!(origin.until(b"0\r\n\r\n"), "0\r\n\r\n");
    origin.send("0\r\n\r\n");
    assert_eq!(client.until(b"0\r\n\r\n"), "0\r\n\r\n");
}

#[test]
fn announced_trailers_pass_in_both_directions() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\na\r\n0\r\nx-sum: 1\r\n\r\n",
    );
    let mut origin = bed.origin.accept();
    let head = origin.head();
    assert_eq!(field(&head, "te"), Some("trailers"));
    assert_eq!(
        origin.until(b"x-sum: 1\r\n\r\n"),
        "1\r\na\r\n0\r\nx-sum: 1\r\n\r\n"
    );
    origin.send(
        "HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n1\r\nb\r\n0\r\nx-end: 2\r\n\r\n",
    );
    client.head();
    assert_eq!(
        client.until(b"x-end: 2\r\n\r\n"),
        "1\r\nb\r\n0\r\nx-end: 2\r\n\r\n"
    );
}

#[test]
fn a_client_that_does_not_read_slows_its_origin_down() {
    const MOST: usize = 256 * 1024 * 1024;
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {MOST}\r\n\r\n"));
    let sent = origin.send_until_blocked(MOST);
    assert!(sent < MOST / 4, "{sent} bytes went into a client that reads none");
}

#[test]
fn an_origin_that_does_not_read_slows_its_client_down() {
    const MOST: usize = 256 * 1024 * 1024;
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST}\r\n\r\n"
    ));
    let mut origin = bed.origin.accept();
    origin.head();
    let sent = client.send_until_blocked(MOST);
    assert!(
        sent < MOST / 4,
        "{sent} bytes went into an origin that reads none"
    );
}

#[test]
fn a_client_that_leaves_takes_its_request_with_it() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    drop(client);
    origin.gone();
}

#[test]
fn a_client_that_leaves_during_the_response_takes_it_with_it() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n");
    client.until(b"a\r\n");
    client.reset();
    origin.gone();
}

#[test]
fn a_request_body_that_breaks_off_never_looks_whole() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    let mut origin = bed.origin.accept();
    origin.until(b"hi\r\n");
    drop(client);
    let rest = origin.ended();
    assert_eq!(rest, "");
}

#[test]
fn a_response_that_breaks_off_never_looks_whole() {
    for framing in ["content-length: 100", "transfer-encoding: chunked"] {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n2\r\nhi\r\n"));
        client.until(b"hi\r\n");
        drop(origin);
        let rest = client.ended();
        assert_eq!(rest, "", "{framing}");
    }
}

#[test]
fn a_response_that_breaks_off_is_a_reset_where_nothing_else_could_tell() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n");
    client.until(b"hi");
    drop(origin);
    let error = client.try_rest().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn the_origin_decides_whether_a_body_may_come() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    let mut origin = bed.origin.accept();
    let head = origin.head();
    assert_eq!(field(&head, "expect"), Some("100-continue"));
    origin.send("HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi");
    assert_eq!(origin.take(2), "hi");
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn an_origin_that_wants_no_body_gets_none() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 413 "));
    assert_eq!(origin.ended(), "");
}

#[test]
fn an_origin_that_knows_no_expectations_gets_the_body_after_a_while() {
    let bed = Bed::with(|settings| settings.timeouts.header = Duration::from_millis(80));
    let mut client = bed.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi");
    assert_eq!(origin.take(2), "hi");
}

#[test]
fn interim_responses_do_not_end_an_exchange() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
    );
    assert!(passed.seen_by_client.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(passed.seen_by_client.ends_with("\r\n\r\nhi"));
}
