//! One meaning per message, or none: what could be read in two ways is refused or said anew.

use crate::bed::{Bed, field};

fn refused(request: &str) -> String {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(request);
    let answer = client.rest();
    assert!(!bed.origin.was_asked(), "the origin saw {request:?}");
    answer
}

#[track_caller]
fn assert_refused(request: &str, status: &str) {
    let answer = refused(request);
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} "))
            || answer.starts_with(&format!("HTTP/1.0 {status} ")),
        "{request:?}: {answer}"
    );
    assert_eq!(
        answer.matches("HTTP/1.").count(),
        1,
        "more than one answer: {answer}"
    );
    assert_eq!(field(&answer, "connection"), Some("close"), "{answer}");
}

#[test]
fn two_lengths_that_differ_are_refused() {
    assert_refused(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "400",
    );
    assert_refused(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4\r\n\r\nabcd",
        "400",
    );
}

#[test]
fn lengths_that_are_no_plain_number_are_refused() {
    for length in ["+3", "-3", "0x3", "3 3", "3,3", "", "99999999999999999999"] {
        assert_refused(
            &format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nabc"),
            "400",
        );
    }
}

#[test]
fn of_a_length_and_chunks_only_the_chunks_count_and_the_connection_ends() {
    for fields in [
        "Content-Length: 30\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 30",
    ] {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        let mut origin = bed.origin.accept();
        let head = origin.head();
        assert_eq!(field(&head, "content-length"), None);
        assert_eq!(field(&head, "transfer-encoding"), Some("chunked"));
        assert_eq!(origin.until(b"0\r\n\r\n"), "2\r\nhi\r\n0\r\n\r\n");
        origin.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
        let answer = client.rest();
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert_eq!(field(&answer, "connection"), Some("close"));
        assert!(!bed.origin.was_asked());
    }
}

#[test]
fn transfer_codings_other_than_chunked_are_refused() {
    let with = |field: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n0\r\n\r\n");
    assert_refused(&with("Transfer-Encoding: gzip, chunked"), "501");
    assert_refused(&with("Transfer-Encoding: chunked, gzip"), "400");
    assert_refused(&with("Transfer-Encoding: xchunked"), "400");
    assert_refused(&with("Transfer-Encoding: \u{b}chunked"), "400");
    assert_refused(
        &with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        "400",
    );
    assert_refused(
        &with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
        "400",
    );
    assert_refused(
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "400",
    );
}

#[test]
fn fields_that_two_readers_could_split_differently_are_refused() {
    for line in [
        "X: a\r\n b",
        "X : a",
        " X: a",
        "X",
        ": a",
        "X\0: a",
        "X: a\0",
        "X: a\rb",
    ] {
        assert_refused(&format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"), "400");
    }
}

#[test]
fn a_bad_chunk_ends_the_request_at_both_sides() {
    for chunk in [
        "zz\r\nhi\r\n",
        "2\nhi\r\n",
        "2\r\nhiX0\r\n\r\n",
        "-2\r\nhi\r\n",
        "ffffffffffffffffff\r\nhi",
    ] {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"
        ));
        let mut origin = bed.origin.accept();
        let seen = origin.ended();
        assert!(!seen.ends_with("0\r\n\r\n"), "{chunk:?} looks complete: {seen}");
        let answer = client.rest();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{chunk:?}: {answer}");
        assert!(answer.contains(r#""error":"request_body_broken""#));
    }
}

#[test]
fn a_host_is_named_once_and_everywhere_the_same() {
    assert_refused("GET / HTTP/1.1\r\n\r\n", "400");
    assert_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400");
    assert_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400");
    assert_refused("GET / HTTP/1.1\r\nHost:\r\n\r\n", "400");
    assert_refused("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400");
    assert_refused("GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "400");
}

#[test]
fn an_absolute_target_is_forwarded_as_a_path() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    );
    assert!(passed.seen_by_origin.starts_with("GET /x?y HTTP/1.1\r\n"));
    assert_eq!(field(&passed.seen_by_origin, "host"), Some("a.test"));
}

#[test]
fn an_asterisk_is_a_target_for_options_only() {
    let bed = Bed::new();
    let passed = bed.pass(
        "OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    );
    assert!(passed.seen_by_origin.starts_with("OPTIONS * HTTP/1.1\r\n"));
    assert_refused("GET * HTTP/1.1\r\nHost: a.test\r\n\r\n", "400");
}

#[test]
fn connect_and_targets_that_name_no_path_are_refused() {
    assert_refused("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "501");
    assert_refused("GET a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", "400");
    assert_refused("GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "400");
    assert_refused("GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n", "400");
}

#[test]
fn expectations_other_than_100_continue_fail() {
    assert_refused(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: a pony\r\nContent-Length: 1\r\n\r\nx",
        "417",
    );
}

#[test]
fn heads_beyond_the_bounds_are_refused_by_what_is_too_long() {
    assert_refused(
        &format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(8 * 1024)),
        "414",
    );
    assert_refused(
        &format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "a".repeat(32 * 1024)
        ),
        "431",
    );
    assert_refused(
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: 1\r\n".repeat(100)),
        "431",
    );
}

#[test]
fn a_get_with_a_body_keeps_it() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
    let mut origin = bed.origin.accept();
    assert_eq!(field(&origin.head(), "transfer-encoding"), Some("chunked"));
    assert_eq!(origin.until(b"0\r\n\r\n"), "2\r\nhi\r\n0\r\n\r\n");
}

#[test]
fn responses_that_could_end_in_two_places_are_refused() {
    for fields in [
        "content-length: 2\r\ntransfer-encoding: chunked",
        "content-length: 2\r\ncontent-length: 3",
        "content-length: 2, 2",
        "content-length: 2\r\ncontent-length: 2",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: gzip",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        "x : y\r\ncontent-length: 2",
        "x: y\r\n folded\r\ncontent-length: 2",
    ] {
        let bed = Bed::new();
        let passed = bed.pass(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            &format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhi"),
        );
        let answer = passed.seen_by_client;
        assert!(
            answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"),
            "{fields}: {answer}"
        );
        assert!(
            answer.contains(r#""error":"upstream_bad_response""#),
            "{fields}: {answer}"
        );
    }
}

#[test]
fn a_switch_of_protocols_that_nobody_asked_for_is_refused() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    );
    assert!(passed.seen_by_client.starts_with("HTTP/1.1 502 "));
}
