//! Clients that try to say more, hold more or wait longer than they may.

use std::time::Duration;

use crate::bed::{Bed, Wire, fields};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn trailers_cannot_say_what_only_the_gateway_may_say() {
    let claims = [
        "x-tidegate-verdict",
        "X_Tidegate_Subject",
        "x-forwarded-for",
        "x_real_ip",
        "connection",
        "proxy-authorization",
        "cookie",
    ];
    let bed = Bed::new();
    let mut client = bed.client();
    let announced = claims.join(", ");
    let trailers: String = claims.iter().map(|name| format!("{name}: forged\r\n")).collect();
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTrailer: x-sum, {announced}\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\na\r\n0\r\nx-sum: 1\r\n{trailers}\r\n"
    ));
    let mut origin = bed.origin.accept();
    origin.head();
    assert_eq!(origin.until(b"\r\n\r\n"), "1\r\na\r\n0\r\nx-sum: 1\r\n\r\n");
}

#[test]
fn a_chunked_response_leaves_its_connection_to_the_next_request() {
    let bed = Bed::new();
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    for trailer in ["", "x-end: 1\r\n"] {
        origin.head();
        origin.send(format!(
            "HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n{trailer}\r\n"
        ));
        client.head();
        client.until(b"0\r\n");
        client.send(GET);
    }
    assert!(origin.head().starts_with("GET / "));
}

#[test]
fn connections_that_never_spoke_do_not_delay_a_stop() {
    let mut bed = Bed::with(|settings| settings.timeouts.header = Duration::from_secs(3600));
    let mut silent = bed.client();
    let mut half_a_preface = bed.client();
    half_a_preface.send("PRI * HT");
    // The answer shows that both were accepted before.
    assert!(bed.answer("CONNECT a HTTP/1.1\r\n\r\n").contains(" 501 "));
    bed.ask_to_stop();
    silent.gone();
    half_a_preface.gone();
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn a_stranger_s_forwarding_fields_end_here_in_every_spelling() {
    let bed = Bed::new();
    let passed = bed.pass(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, x-forwarded-for, x-tidegate-verdict, host\r\n\
         x.forwarded.for: 1.1.1.1\r\nx-forwarded_ssl: on\r\nX-Forwarded-Scheme: https\r\nX-Forwarded-Prefix: //evil\r\n\
         X-Forwarded-Client-Cert: Hash=1\r\nX-Cluster-Client-IP: 1.1.1.1\r\nx.tidegate.verdict: forged\r\n\
         x!tidegate!subject: forged\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    );
    assert_eq!(
        fields(&passed.seen_by_origin),
        [
            "host: a",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: a",
            "x-forwarded-proto: http",
            "x-tidegate-verdict: pass",
        ]
    );
}

/// HTTP/2 by hand: a client that lets nothing be sent to it.
fn shut_window(bed: &Bed) -> Wire {
    let mut client = bed.client();
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // SETTINGS_INITIAL_WINDOW_SIZE = 0.
    client.send([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    client
}

/// `GET /` of `a` as stream `id`, from the static table.
fn get(id: u8) -> Vec<u8> {
    let block = [0x82, 0x86, 0x84, 0x41, 1, b'a'];
    let mut frame = vec![0, 0, 6, 1, 5, 0, 0, 0, id];
    frame.extend(block);
    frame
}

#[test]
fn a_stream_whose_window_stays_shut_gives_up_its_slot_and_its_upstream() {
    let policies = "
policies:
  - name: one
    key: [client.ip]
    limit: { algorithm: concurrency, slots: 1, ttl: 1h }
";
    let bed = Bed::limited(
        policies,
        "",
        tidegate_server::clock::Clock::system(),
        |settings| {
            settings.timeouts.body = Duration::from_millis(80);
        },
    );
    let mut client = shut_window(&bed);
    client.send(get(1));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n");
    origin.gone();
    let mut other = bed.client();
    other.send(GET);
    bed.origin.accept().head();
}

#[test]
fn a_connection_whose_streams_were_all_given_up_ends_like_an_idle_one() {
    let bed = Bed::with(|settings| {
        settings.timeouts.body = Duration::from_millis(80);
        settings.timeouts.keep_alive = Duration::from_millis(160);
    });
    let mut client = shut_window(&bed);
    client.send(get(1));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    client.gone();
}

#[test]
fn an_idle_http_2_client_that_answers_nothing_is_let_go() {
    let bed = Bed::with(|settings| settings.timeouts.keep_alive = Duration::from_millis(80));
    shut_window(&bed).gone();
}

#[test]
fn an_idle_http_2_client_that_answers_nothing_does_not_hold_up_a_stop() {
    let mut bed = Bed::with(|settings| settings.timeouts.keep_alive = Duration::from_secs(3600));
    let mut client = shut_window(&bed);
    client.send(get(1));
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 204 No Content\r\n\r\n");
    // The second request shows that the first is over.
    client.send(get(3));
    origin.head();
    origin.send("HTTP/1.1 204 No Content\r\n\r\n");
    client.send(get(5));
    origin.head();
    client.send([0, 0, 4, 3, 0, 0, 0, 0, 5, 0, 0, 0, 8]);
    origin.gone();
    bed.ask_to_stop();
    client.gone();
    assert_eq!(bed.stopped().cut, 0);
}
