//! Requests within requests. Each table says what exactly arrives at the origin: what was meant, and nothing that was hidden in it.

use tidegate_e2e::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, block, frame, get, hello, request};
use tidegate_e2e::{Gateway, Nginx, Raw, curl};

/// What would be smuggled.
const INNER: &str = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
/// What follows in the open.
const SECOND: &str = "GET /second HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// A gateway that soon closes what rests, so that tests see the end of a connection.
fn start() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let policies = "gateway: { timeouts: { idle: 1s } }\npolicies: []\n";
    let gateway = Gateway::with_policies(&nginx.url(), policies);
    (nginx, gateway)
}

/// What arrived at the origin: method and target, in order.
fn arrived(nginx: &Nginx, gateway: &Gateway) -> Vec<String> {
    assert_eq!(curl(&[&gateway.url("/marker")]).status, 200);
    let log = nginx.log_up_to("/marker");
    let requests = log.iter().map(|line| line.splitn(3, ' ').take(2));
    requests
        .map(|words| words.collect::<Vec<_>>().join(" "))
        .collect()
}

/// Says `tail` after the start of `POST /outer` and a host; what came back until the gateway closed.
fn post(gateway: &Gateway, tail: &str) -> String {
    let mut client = Raw::connect(gateway.address());
    client.send(format!("POST /outer HTTP/1.1\r\nhost: a\r\n{tail}"));
    client.rest()
}

fn answers(told: &str) -> usize {
    told.matches("HTTP/1.1 ").count()
}

#[test]
fn a_head_that_could_be_read_in_two_ways_never_arrives() {
    let (nginx, gateway) = start();
    let length = INNER.len();
    let ambiguous = [
        format!("content-length: 0\r\ncontent-length: {length}\r\n\r\n{INNER}"),
        format!("content-length: 0, {length}\r\n\r\n{INNER}"),
        format!("content-length: +0\r\n\r\n{INNER}"),
        format!("content-length: -1\r\n\r\n{INNER}"),
        format!("content-length: 0x0\r\n\r\n{INNER}"),
        format!("content-length: 0 0\r\n\r\n{INNER}"),
        format!("content-length:\r\n\r\n{INNER}"),
        format!("content-length: 18446744073709551616\r\n\r\n{INNER}"),
        format!("content-length : {length}\r\n\r\n{INNER}"),
        format!("content-length\r\n: {length}\r\n\r\n{INNER}"),
        format!(" content-length: {length}\r\n\r\n{INNER}"),
        format!("content-length: 0\r\n {length}\r\n\r\n{INNER}"),
        format!("content\0-length: {length}\r\n\r\n{INNER}"),
        format!("transfer-encoding: xchunked\r\n\r\n{INNER}"),
        format!("transfer-encoding: identity\r\n\r\n{INNER}"),
        format!("transfer-encoding:\r\n\r\n{INNER}"),
        format!("transfer-encoding: \"chunked\"\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked\x0c\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked;q=1\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding : chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n{INNER}"),
        format!("transfer-encoding:\r\n chunked\r\ncontent-length: {length}\r\n\r\n{INNER}"),
        format!("x: y\rtransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n{INNER}"),
        format!("x: y\0\r\ncontent-length: 0\r\n\r\n{INNER}"),
        format!("host: b\r\ncontent-length: 0\r\n\r\n{INNER}"),
    ];
    for tail in &ambiguous {
        let told = post(&gateway, tail);
        assert_eq!(answers(&told), 1, "{tail:?}: {told}");
        assert!(["400", "501"].contains(&&told[9..12]), "{tail:?}: {told}");
    }
    assert_eq!(arrived(&nginx, &gateway), [""; 0]);
}

#[test]
fn what_follows_a_request_with_both_lengths_is_not_read() {
    let (nginx, gateway) = start();
    let length = INNER.len();
    // Taking the chunks and closing is what RFC 9112, section 6.3, asks for.
    let both = [
        format!(
            "content-length: {}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{INNER}",
            length + 5
        ),
        format!(
            "transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n{length:x}\r\n{INNER}\r\n0\r\n\r\n{SECOND}"
        ),
        format!("content-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
    ];
    for tail in &both {
        let told = post(&gateway, tail);
        assert_eq!(answers(&told), 1, "{tail:?}: {told}");
        assert!(
            told.starts_with("HTTP/1.1 200 ") && told.contains("connection: close"),
            "{tail:?}: {told}"
        );
    }
    assert_eq!(arrived(&nginx, &gateway), ["POST /outer"; 3]);
}

#[test]
fn what_follows_a_broken_body_is_not_read() {
    let (nginx, gateway) = start();
    let broken = [
        "0x0\r\n\r\n",
        "-0\r\n\r\n",
        "+0\r\n\r\n",
        "0 \r\r\n\r\n",
        " 0\r\n\r\n",
        "0_0\r\n\r\n",
        "\r\n0\r\n\r\n",
        "fffffffffffffffff0\r\n\r\n",
        "10000000000000000\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "1\r\na0\r\n\r\n",
        "1\na\r\n0\r\n\r\n",
        "1;\nx\r\na\r\n0\r\n\r\n",
        "0\r\nx\r\n\r\n",
        "0\n\n",
    ];
    for body in broken {
        let told = post(
            &gateway,
            &format!("transfer-encoding: chunked\r\n\r\n{body}{INNER}"),
        );
        assert_eq!(answers(&told), 1, "{body:?}: {told}");
        assert!(told.contains("connection: close"), "{body:?}: {told}");
    }
    // The origin may have heard of a request before its body broke.
    let all = arrived(&nginx, &gateway);
    assert!(all.iter().all(|request| request == "POST /outer"), "{all:?}");
}

#[test]
fn whatever_a_body_looks_like_two_requests_are_two() {
    let (nginx, gateway) = start();
    let length = INNER.len();
    let plain = [
        format!("content-length: {length}\r\n\r\n{INNER}"),
        format!("Content-LENGTH:{length}\r\n\r\n{INNER}"),
        format!("content-length: \t{length} \r\n\r\n{INNER}"),
        format!("content-length: 000{length}\r\n\r\n{INNER}"),
        format!("content-length: {length}\r\ncontent-length: {length}\r\n\r\n{INNER}"),
        format!("x: content-length: 0\r\ncontent-length: {length}\r\n\r\n{INNER}"),
        format!("content-length: {length}\r\nconnection: content-length, keep-alive\r\n\r\n{INNER}"),
        format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n{INNER}\r\n0\r\n\r\n"),
        format!("transfer-encoding: CHUNKED\r\n\r\n00{length:X}\r\n{INNER}\r\n000\r\n\r\n"),
        format!("transfer-encoding: chunked \r\n\r\n{length:x};a=\"0\"\r\n{INNER}\r\n0;b\r\n\r\n"),
        format!(
            "transfer-encoding: chunked\r\nconnection: transfer-encoding\r\n\r\n{length:x}\r\n{INNER}\r\n0\r\n\r\n"
        ),
        format!(
            "transfer-encoding: chunked\r\ntrailer: x\r\n\r\n{length:x}\r\n{INNER}\r\n0\r\nx: GET /smuggled\r\n\r\n"
        ),
        format!("transfer_encoding: chunked\r\ncontent-length: {length}\r\n\r\n{INNER}"),
        "content-length: 0\r\n\r\n".to_owned(),
        "\r\n".to_owned(),
    ];
    for tail in &plain {
        let told = post(&gateway, &format!("{tail}{SECOND}"));
        assert_eq!(told.matches("HTTP/1.1 200 ").count(), 2, "{tail:?}: {told}");
        assert_eq!(answers(&told), 2, "{tail:?}: {told}");
    }
    assert_eq!(
        arrived(&nginx, &gateway),
        ["POST /outer", "GET /second"].repeat(plain.len())
    );
}

#[test]
fn no_frame_of_http_2_becomes_more_than_one_request() {
    let (nginx, gateway) = start();
    let evil = format!("0\r\n\r\n{INNER}");
    let heads = [
        // The only one that means what it says.
        block(&[("content-length", &evil.len().to_string())]),
        block(&[("transfer-encoding", "chunked")]),
        block(&[("connection", "transfer-encoding")]),
        block(&[("content-length", "0")]),
        block(&[("content-length", "4"), ("content-length", "5")]),
        block(&[("x", &format!("y\r\n\r\n{INNER}"))]),
        block(&[(&format!("x: y\r\n\r\n{INNER}"), "z")]),
        block(&[("Content-Length", "0")]),
        block(&[("host", "b\r\ncontent-length: 0")]),
        block(&[(":path", "/other")]),
    ];
    let paths = [
        format!("/outer HTTP/1.1\r\nhost: a\r\n\r\n{INNER}"),
        "/outer HTTP/1.1".to_owned(),
        "/outer\tx".to_owned(),
    ];
    let asked = heads
        .iter()
        .map(|more| [request("POST", "/outer"), more.clone()].concat());
    let asked = asked.chain(paths.iter().map(|path| request("POST", path)));
    let asked = asked.chain([request("POST /outer HTTP/1.1\r\nhost: a\r\n\r\nGET", "/smuggled")]);
    let ask = |head: Vec<u8>| {
        let mut client = Raw::connect(gateway.address());
        let head = frame(HEADERS, END_HEADERS, 1, &head);
        client.send([hello(), head, frame(DATA, END_STREAM, 1, evil.as_bytes())].concat());
        // The connection may have ended by then.
        client.send(get(3, "/second"));
        client
    };
    let clients: Vec<_> = asked.map(ask).collect();
    for client in clients {
        client.rest();
    }
    let all = arrived(&nginx, &gateway);
    let meant = ["POST /outer", "GET /second"];
    assert!(
        meant
            .iter()
            .all(|request| all.iter().any(|found| found == request)),
        "{all:?}"
    );
    assert!(
        all.iter().all(|request| meant.contains(&request.as_str())),
        "{all:?}"
    );
}
