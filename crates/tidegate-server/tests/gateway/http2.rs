//! HTTP/2 from clients, by prior knowledge, to an origin that speaks HTTP/1.1.

use std::time::Duration;

use bytes::Bytes;
use h2::client::{SendRequest, handshake};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use tidegate_core::Timestamp;
use tidegate_server::clock::{Clock, ManualClock};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::bed::{Bed, Wire, field, fields};

/// A client with a thread of its own, so that tests can block on the origin.
pub struct Client {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

pub type Answer = JoinHandle<Result<Response<RecvStream>, h2::Error>>;

impl Client {
    pub fn new(bed: &Bed) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (requests, connection) = runtime.block_on(async {
            let stream = TcpStream::connect(bed.address).await.unwrap();
            handshake(stream).await.unwrap()
        });
        let connection = runtime.spawn(connection);
        Self {
            runtime,
            requests,
            connection,
        }
    }

    fn get(&mut self, path: &str) -> Answer {
        let request = Request::get(format!("http://a.test{path}")).body(()).unwrap();
        self.send(request, true).0
    }

    pub fn send(&mut self, request: Request<()>, end: bool) -> (Answer, SendStream<Bytes>) {
        let (answer, body) = self.requests.send_request(request, end).unwrap();
        (self.runtime.spawn(answer), body)
    }

    pub fn head(&self, answer: Answer) -> Response<RecvStream> {
        self.runtime.block_on(answer).unwrap().unwrap()
    }

    fn body(&self, response: Response<RecvStream>) -> Result<(String, Option<HeaderMap>), h2::Error> {
        let mut body = response.into_body();
        self.runtime.block_on(async {
            let mut all = Vec::new();
            while let Some(bytes) = body.data().await {
                all.extend_from_slice(&bytes?);
            }
            Ok((String::from_utf8(all).unwrap(), body.trailers().await?))
        })
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

#[test]
fn a_request_goes_on_as_http_1_1() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    let request = Request::get("http://a.test/x?y=1")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (answer, _) = client.send(request, true);
    let mut origin = bed.origin.accept();
    let head = origin.head();
    assert!(head.starts_with("GET /x?y=1 HTTP/1.1\r\n"), "{head}");
    assert_eq!(
        fields(&head),
        [
            "connection: te",
            "cookie: a=1; b=2",
            "host: a.test",
            "te: trailers",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: a.test",
            "x-forwarded-proto: http",
            "x-tidegate-verdict: pass",
        ]
    );
    origin.send(
        "HTTP/1.1 201 Created\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nhi",
    );
    let response = client.head(answer);
    assert_eq!(response.status(), 201);
    assert!(!response.headers().contains_key("connection") && !response.headers().contains_key("keep-alive"));
    assert_eq!(client.body(response).unwrap(), ("hi".to_owned(), None));
}

#[test]
fn bodies_and_trailers_stream_both_ways() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    let request = Request::post("http://a.test/").body(()).unwrap();
    let (answer, mut upload) = client.send(request, false);
    let mut origin = bed.origin.accept();
    assert_eq!(field(&origin.head(), "transfer-encoding"), Some("chunked"));
    upload.send_data(Bytes::from_static(b"one"), false).unwrap();
    assert_eq!(origin.until(b"one\r\n"), "3\r\none\r\n");
    upload.send_data(Bytes::new(), true).unwrap();
    assert_eq!(origin.until(b"0\r\n\r\n"), "0\r\n\r\n");
    origin.send("HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n");
    let response = client.head(answer);
    origin.send("2\r\nhi\r\n0\r\nx-end: 1\r\n\r\n");
    let (body, trailers) = client.body(response).unwrap();
    assert_eq!(body, "hi");
    assert_eq!(trailers.unwrap()["x-end"], "1");
}

#[test]
fn requests_of_one_connection_do_not_wait_for_each_other() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    let slow = client.get("/slow");
    let mut slow_origin = bed.origin.accept();
    slow_origin.head();
    let quick = client.get("/quick");
    let mut quick_origin = bed.origin.accept();
    quick_origin.head();
    quick_origin.send(OK);
    assert_eq!(client.head(quick).status(), 200);
    slow_origin.send(OK);
    assert_eq!(client.head(slow).status(), 200);
}

#[test]
fn a_stream_that_its_client_resets_takes_its_request_and_its_slot_with_it() {
    let policies = "
policies:
  - name: one
    key: [client.ip]
    limit: { algorithm: concurrency, slots: 1, ttl: 1m }
";
    let clock = Clock::manual(ManualClock::starting_at(Timestamp::from_nanos(1)));
    let bed = Bed::limited(policies, "", clock, |_| {});
    let mut client = Client::new(&bed);
    let (answer, mut upload) = client.send(Request::post("http://a.test/").body(()).unwrap(), false);
    let mut origin = bed.origin.accept();
    origin.head();
    let refused = client.get("/");
    assert_eq!(client.head(refused).status(), 429);
    upload.send_reset(Reason::CANCEL);
    origin.gone();
    drop(answer);
    let free = client.get("/");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    assert_eq!(client.head(free).status(), 200);
}

#[test]
fn a_response_that_breaks_off_is_a_stream_error() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    let answer = client.get("/");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n");
    let response = client.head(answer);
    drop(origin);
    let error = client.body(response).unwrap_err();
    assert!(error.is_reset(), "{error}");
}

#[test]
fn a_stop_sends_goaway_and_finishes_what_is_in_flight() {
    let mut bed = Bed::new();
    let mut client = Client::new(&bed);
    let answer = client.get("/");
    let mut origin = bed.origin.accept();
    origin.head();
    bed.ask_to_stop();
    // GOAWAY has come when the client may begin nothing more.
    let Client {
        runtime,
        requests,
        connection,
    } = &mut client;
    runtime.block_on(async {
        while requests.clone().ready().await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    origin.send(OK);
    let response = runtime.block_on(answer).unwrap().unwrap();
    assert_eq!(response.status(), 200);
    drop(response);
    runtime.block_on(connection).unwrap().unwrap();
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn an_idle_connection_is_told_and_let_go() {
    let bed = Bed::with(|settings| settings.timeouts.keep_alive = Duration::from_millis(80));
    let client = Client::new(&bed);
    client.runtime.block_on(client.connection).unwrap().unwrap();
}

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A header block of literals, without compression.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}

pub const SETTINGS: u8 = 4;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const GOAWAY: u8 = 7;
pub const END_STREAM_AND_HEADERS: u8 = 5;

/// Reads frames until one of kind `RST_STREAM`, `GOAWAY` or `HEADERS`.
fn fate(wire: &mut Wire) -> u8 {
    loop {
        let head = wire.take_bytes(9);
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        wire.take_bytes(length as usize);
        if [RST_STREAM, GOAWAY, HEADERS].contains(&head[3]) {
            return head[3];
        }
    }
}

#[test]
fn a_preface_that_comes_byte_by_byte_is_still_http_2() {
    let bed = Bed::new();
    let mut client = bed.client();
    for byte in PREFACE {
        client.send([*byte]);
    }
    client.send(frame(SETTINGS, 0, 0, &[]));
    let request = block(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "a"),
    ]);
    client.send(frame(HEADERS, END_STREAM_AND_HEADERS, 1, &request));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    assert_eq!(fate(&mut client), HEADERS);
}

#[test]
fn what_http_1_1_would_read_differently_never_gets_there() {
    let usual = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "a"),
    ];
    let bad: [&[(&str, &str)]; 9] = [
        &[("transfer-encoding", "chunked")],
        &[("connection", "close")],
        &[("upgrade", "websocket")],
        &[("te", "gzip")],
        &[("x", "1\r\nx-smuggled: 1")],
        &[("x\r\nx-smuggled", "1")],
        &[("X-Upper", "1")],
        &[(":path", "/other")],
        &[("content-length", "5")],
    ];
    for more in bad {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send(PREFACE);
        client.send(frame(SETTINGS, 0, 0, &[]));
        let mut fields = usual.to_vec();
        fields.extend(more);
        client.send(frame(HEADERS, END_STREAM_AND_HEADERS, 1, &block(&fields)));
        let fate = fate(&mut client);
        assert!(fate == RST_STREAM || fate == GOAWAY, "{more:?}: {fate}");
        assert!(!bed.origin.was_asked(), "{more:?}");
    }
}

#[test]
fn pseudo_fields_that_would_make_another_request_line_are_refused() {
    for (method, path, authority) in [
        ("GET", "/ HTTP/1.1\r\nx: y\r\n\r\n", "a"),
        ("GET /admin HTTP/1.1\r\nx:", "/", "a"),
        ("GET", "/", "a\r\nx: y"),
        ("GET", "/", "user@a"),
        ("GET", "*", "a"),
        ("GET", "", "a"),
    ] {
        let bed = Bed::new();
        let mut client = bed.client();
        client.send(PREFACE);
        client.send(frame(SETTINGS, 0, 0, &[]));
        let request = block(&[
            (":method", method),
            (":scheme", "http"),
            (":path", path),
            (":authority", authority),
        ]);
        client.send(frame(HEADERS, END_STREAM_AND_HEADERS, 1, &request));
        fate(&mut client);
        assert!(!bed.origin.was_asked(), "{method:?} {path:?} {authority:?}");
    }
}

#[test]
fn a_value_that_the_origin_would_read_without_its_blanks_is_400() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    for value in [" key", "key ", "\tkey", "key\t", " "] {
        let request = Request::get("http://a.test/").header("x-api-key", value);
        let (answer, _) = client.send(request.body(()).unwrap(), true);
        assert_eq!(client.head(answer).status(), 400, "{value:?}");
    }
    assert!(!bed.origin.was_asked());
}

#[test]
fn an_authority_and_a_host_that_differ_are_400() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    let request = Request::get("http://a.test/")
        .header("host", "b.test")
        .body(())
        .unwrap();
    let (answer, _) = client.send(request, true);
    assert_eq!(client.head(answer).status(), 400);
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_refused_grpc_call_is_a_status_without_messages() {
    let policies = "
policies:
  - name: calls
    key: [client.ip]
    limit: { quota: 1, window: 1h }
";
    let clock = Clock::manual(ManualClock::starting_at(Timestamp::from_nanos(1)));
    let bed = Bed::limited(policies, "", clock, |_| {});
    let mut client = Client::new(&bed);
    let call = || {
        Request::post("http://a.test/shop.Orders/Place")
            .header("content-type", "application/grpc+proto")
            .header("te", "trailers")
            .body(())
            .unwrap()
    };
    let (answer, _) = client.send(call(), true);
    bed.origin.accept().head();
    let failed = client.head(answer);
    assert_eq!(failed.status(), 200);
    assert_eq!(
        failed.headers()["grpc-status"],
        "14",
        "the origin left, and the limit is used up"
    );
    let (answer, _) = client.send(call(), true);
    let response = client.head(answer);
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert_eq!(response.headers()["grpc-status"], "8");
    assert_eq!(response.headers()["grpc-retry-pushback-ms"], "3600000");
    // Trailers-Only: the one header block ends the stream.
    assert!(response.body().is_end_stream());
    assert_eq!(client.body(response).unwrap(), (String::new(), None));
}

#[test]
fn a_policy_looks_at_a_body_that_comes_in_many_frames() {
    const POLICIES: &str = "
policies:
  - { name: login, key: [body.json.username], limit: { quota: 1, window: 1h }, body: { max_bytes: 1MiB } }
";
    let bed = Bed::limited(POLICIES, "", Clock::system(), |_| {});
    let mut client = Client::new(&bed);
    let mut post = |pad: usize| {
        let request = Request::post("http://a.test/")
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        let (answer, mut upload) = client.send(request, false);
        let body = format!(r#"{{"pad":"{}","username":"ann"}}"#, "x".repeat(pad));
        // More than the windows of a stream and its connection hold, so they have to open while the body is read.
        upload.send_data(Bytes::from(body.clone()), true).unwrap();
        (answer, body)
    };
    let (answer, body) = post(1_000_000);
    let mut origin = bed.origin.accept();
    origin.head();
    let mut seen = String::new();
    while seen.len() < body.len() {
        let length = origin.until(b"\r\n");
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        seen += &origin.take(length);
        origin.take(2);
    }
    assert!(seen == body, "the body changed on its way");
    origin.until(b"0\r\n\r\n");
    origin.send(OK);
    let (second, _) = post(10);
    assert_eq!(client.head(answer).status(), 200);
    assert_eq!(client.head(second).status(), 429);
}

#[test]
fn a_connection_that_had_its_requests_is_left_and_those_in_flight_are_answered() {
    let bed = Bed::with(|settings| settings.bounds.requests_per_connection = 2);
    let mut client = Client::new(&bed);
    let (first, second) = (client.get("/1"), client.get("/2"));
    for _ in 0..2 {
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send(OK);
    }
    for answer in [first, second] {
        let response = client.head(answer);
        assert_eq!(client.body(response).unwrap().0, "hi");
    }
    client.runtime.block_on(&mut client.connection).unwrap().unwrap();
}

#[test]
fn a_client_that_gives_most_of_its_requests_up_is_let_go() {
    let bed = Bed::new();
    let mut client = Client::new(&bed);
    for _ in 0..501 {
        let request = Request::get("http://a.test/").body(()).unwrap();
        let (answer, mut stream) = client.requests.send_request(request, true).unwrap();
        let mut origin = bed.origin.accept();
        origin.head();
        stream.send_reset(Reason::CANCEL);
        drop(answer);
        origin.gone();
    }
    let last = Request::get("http://a.test/").body(()).unwrap();
    let last = client.requests.send_request(last, true);
    let Client {
        runtime, connection, ..
    } = client;
    // However it ends, and whether or not it had when the last request was made.
    let _ = runtime.block_on(connection).unwrap();
    assert!(last.is_err() || last.is_ok_and(|(answer, _)| runtime.block_on(answer).is_err()));
    assert!(!bed.origin.was_asked());
}
