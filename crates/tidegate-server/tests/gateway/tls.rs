//! TLS from clients.

mod files;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use rustls::{AlertDescription, Error, ProtocolVersion, SupportedProtocolVersion};
use tidegate_core::Timestamp;

use crate::bed::{Bed, Wire, field};
use crate::certs::{Certs, Client, der, now};

const ONE: &str = "  - { address: '127.0.0.1:0', tls: { certificates: { certificate: a.pem, key: a.key } } }";
const OLD: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
const NEW: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

fn one() -> (Certs, Bed) {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, ONE);
    (certs, bed)
}

fn bed(certs: &Certs, listen: &str) -> Bed {
    Bed::with(|settings| settings.listen = certs.listeners(listen))
}

fn wire(certs: &Certs, bed: &Bed) -> Wire {
    certs.client().connect(bed.address, "a.test").unwrap().wire()
}

/// Has `client` ask and the origin answer, and returns what the origin saw.
fn served(bed: &Bed, client: &mut Wire) -> String {
    client.send(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    let mut origin = bed.origin.accept();
    let asked = origin.head();
    origin.send(OK);
    origin.finish();
    assert!(client.rest().ends_with("hi"));
    asked
}

#[test]
fn requests_over_tls_are_served_and_the_origin_is_told() {
    let (certs, bed) = one();
    for versions in [OLD, NEW] {
        let client = certs
            .client()
            .speaking(versions)
            .connect(bed.address, "a.test")
            .unwrap();
        assert_eq!(client.version(), versions[0].version);
        let asked = served(&bed, &mut client.wire());
        assert_eq!(field(&asked, "x-forwarded-proto"), Some("https"));
    }
}

#[test]
fn a_connection_over_tls_carries_many_requests_and_large_bodies() {
    let (certs, bed) = one();
    let mut client = wire(&certs, &bed);
    let body = "x".repeat(1 << 20);
    client.send(GET);
    let mut origin = bed.origin.accept();
    for _ in 0..3 {
        origin.head();
        origin.send(OK);
        client.head();
        assert_eq!(client.take(2), "hi");
        client.send(GET);
    }
    origin.head();
    origin.send(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ));
    client.head();
    assert_eq!(client.take(body.len()), body);
}

#[test]
fn a_version_older_than_the_least_is_refused() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, &ONE.replace("tls: {", "tls: { min_version: 1.3,"));
    let old = certs.client().speaking(OLD);
    let error = old.connect(bed.address, "a.test").err().unwrap();
    assert_eq!(error, Error::AlertReceived(AlertDescription::ProtocolVersion));
    let new = certs.client().connect(bed.address, "a.test").unwrap();
    assert_eq!(new.version(), ProtocolVersion::TLSv1_3);
}

#[test]
fn the_protocol_is_agreed_on_and_a_stranger_s_is_refused() {
    let (certs, bed) = one();
    let agreed = |protocols: &[&str]| {
        let client = certs.client().offering(protocols);
        client
            .connect(bed.address, "a.test")
            .map(|client| client.protocol().map(<[u8]>::to_vec))
    };
    assert_eq!(agreed(&["http/1.1", "h2"]).unwrap().unwrap(), b"h2");
    assert_eq!(agreed(&["http/1.1"]).unwrap().unwrap(), b"http/1.1");
    assert_eq!(agreed(&[]).unwrap(), None);
    assert_eq!(
        agreed(&["smtp"]).err().unwrap(),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol)
    );
}

#[test]
fn http_2_without_having_been_agreed_on_is_refused() {
    let (certs, bed) = one();
    for protocols in [&[][..], &["http/1.1"]] {
        let client = certs
            .client()
            .offering(protocols)
            .connect(bed.address, "a.test")
            .unwrap();
        let mut wire = client.wire();
        wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        let answer = wire.rest();
        assert!(
            answer.starts_with("HTTP/1.1 400 ") && answer.contains("ALPN"),
            "{answer}"
        );
    }
}

#[test]
fn plain_http_is_told_that_the_port_speaks_tls() {
    let (_certs, bed) = one();
    let mut client = bed.client();
    client.send(GET);
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.contains("This port speaks TLS"), "{answer}");
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_client_that_sends_garbage_gets_an_alert() {
    let (_certs, bed) = one();
    let mut client = bed.client();
    client.send([0xff_u8; 64]);
    let answer = client.ended_bytes();
    // An alert (21) of TLS, fatal (2).
    assert_eq!((answer[0], answer[5]), (21, 2), "{answer:?}");
}

#[test]
fn a_handshake_that_does_not_come_to_its_end_is_let_go() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = Bed::with(|settings| {
        settings.listen = certs.listeners(ONE);
        settings.timeouts.header = Duration::from_millis(80);
    });
    let mut silent = bed.client();
    let mut begun = bed.client();
    // The head of a record that promises 512 bytes of a hello.
    begun.send([22, 3, 1, 2, 0, 1]);
    assert_eq!(silent.ended(), "");
    assert_eq!(begun.ended(), "");
}

#[test]
fn handshakes_that_come_to_no_end_hold_up_nobody() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = Bed::with(|settings| {
        settings.listen = certs.listeners(ONE);
        settings.bounds.connections = 4;
    });
    let mut begun: Vec<_> = (0..12).map(|_| bed.client()).collect();
    for client in &mut begun {
        client.send([22, 3, 1, 2, 0, 1]);
    }
    for _ in 0..3 {
        served(&bed, &mut wire(&certs, &bed));
    }
    drop(begun);
}

#[test]
fn the_name_asked_for_chooses_the_certificate() {
    let certs = Certs::new();
    let a = certs.issue("a", &["a.test", "*.a.test"]).0;
    let b = certs.issue("b", &["b.test", "www.a.test"]).0;
    let listen = "  - address: '127.0.0.1:0'\n    tls:\n      certificates: [{ certificate: a.pem, key: a.key }, { certificate: b.pem, key: b.key }]";
    let bed = bed(&certs, listen);
    let shown = |name| certs.client().connect(bed.address, name).unwrap().shown();
    assert_eq!(shown("a.test"), der(&a));
    assert_eq!(shown("b.test"), der(&b));
    assert_eq!(shown("x.a.test"), der(&a));
    assert_eq!(shown("www.a.test"), der(&b));
    // A stranger is shown the first, which it does not believe.
    let error = certs.client().connect(bed.address, "c.test").err().unwrap();
    assert!(matches!(error, Error::InvalidCertificate(_)), "{error:?}");
}

#[test]
fn unknown_names_get_an_alert_if_the_listener_is_strict() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, &ONE.replace("tls: {", "tls: { strict_sni: true,"));
    let error = |name| certs.client().connect(bed.address, name).err();
    let refused = Some(Error::AlertReceived(AlertDescription::AccessDenied));
    assert_eq!(error("a.test"), None);
    assert_eq!(error("b.test"), refused);
    assert_eq!(error("127.0.0.1"), refused);
}

const MUTUAL: &str = "  - { address: '127.0.0.1:0', tls: { certificates: { certificate: a.pem, key: a.key }, client_ca: ca.pem, client_auth: DEMAND } }";

#[test]
fn a_client_without_the_right_certificate_is_refused() {
    let (certs, others) = (Certs::new(), Certs::new());
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, &MUTUAL.replace("DEMAND", "require"));
    let right = certs.issue("client", &["client.test"]);
    let wrong = others.issue("client", &["client.test"]);
    let alert = |client: Client| client.connect(bed.address, "a.test").unwrap().alert();
    assert_eq!(alert(certs.client()), Some(AlertDescription::CertificateRequired));
    assert_eq!(
        alert(certs.client().showing(wrong)),
        Some(AlertDescription::UnknownCA)
    );
    let expired = certs.issue_with("expired", &["client.test"], |params| {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    });
    assert_eq!(
        alert(certs.client().showing(expired)),
        Some(AlertDescription::CertificateExpired)
    );
    let mut client = certs
        .client()
        .showing(right)
        .connect(bed.address, "a.test")
        .unwrap()
        .wire();
    served(&bed, &mut client);
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_client_may_do_without_a_certificate_where_it_is_optional_but_not_show_a_wrong_one() {
    let (certs, others) = (Certs::new(), Certs::new());
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, &MUTUAL.replace("DEMAND", "optional"));
    served(&bed, &mut wire(&certs, &bed));
    let wrong = certs.client().showing(others.issue("client", &[]));
    let alert = wrong.connect(bed.address, "a.test").unwrap().alert();
    assert_eq!(alert, Some(AlertDescription::UnknownCA));
}

#[test]
fn a_session_is_resumed_and_keeps_the_client_s_certificate() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = bed(&certs, &MUTUAL.replace("DEMAND", "require"));
    let config = certs
        .client()
        .showing(certs.issue("client", &["client.test"]))
        .config();
    for kind in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
        let client = Client::connect_with(config.clone(), bed.address, "a.test").unwrap();
        assert_eq!(client.0.conn.handshake_kind(), Some(kind));
        served(&bed, &mut client.wire());
    }
}

#[test]
fn a_host_behind_client_certificates_is_not_served_to_those_who_ask_elsewhere() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    certs.issue("admin", &["admin.test", "*.admin.test"]);
    let plain = "  - '127.0.0.1:0'\n";
    let admin = "\n  - { address: '127.0.0.2:0', tls: { certificates: { certificate: admin.pem, key: admin.key }, client_ca: ca.pem } }";
    let bed = bed(
        &certs,
        &format!("{plain}{}{admin}", ONE.replace("127.0.0.1:0", "127.0.0.3:0")),
    );
    let ask = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    for host in ["admin.test", "ADMIN.test:443", "x.admin.test.", "admin.test."] {
        let mut clear = bed.client();
        clear.send(ask(host));
        assert!(clear.rest().starts_with("HTTP/1.1 421 "), "{host}");
        let mut open = certs.client().connect(bed.addresses[1], "a.test").unwrap().wire();
        open.send(ask(host));
        assert!(open.rest().starts_with("HTTP/1.1 421 "), "{host}");
    }
    assert!(!bed.origin.was_asked());
    let client = certs.client().showing(certs.issue("client", &["client.test"]));
    let mut client = client.connect(bed.addresses[2], "admin.test").unwrap().wire();
    client.send(ask("admin.test"));
    bed.origin.accept().head();
    let mut open = bed.client();
    open.send(ask("a.test"));
    bed.origin.accept().head();
}

#[test]
fn new_certificates_are_shown_to_new_connections_and_old_ones_go_on() {
    let certs = Certs::new();
    let old = certs.issue("a", &["a.test"]).0;
    let bed = bed(&certs, ONE);
    let before = certs.client().connect(bed.address, "a.test").unwrap();
    assert_eq!(before.shown(), der(&old));
    let mut before = before.wire();
    let new = certs.issue("a", &["a.test"]).0;
    let (listeners, tls, problems) = certs.load(ONE, now());
    assert!(problems.is_empty(), "{problems}");
    bed.tls.replace(&listeners, &tls);
    let after = certs.client().connect(bed.address, "a.test").unwrap();
    assert_eq!(after.shown(), der(&new));
    served(&bed, &mut after.wire());
    served(&bed, &mut before);
}

#[test]
fn a_listener_does_not_change_its_protocol_by_a_reload() {
    let (certs, bed) = one();
    let (listeners, ..) = certs.load("  - '127.0.0.1:0'", now());
    bed.tls.replace(&listeners, &[None]);
    served(&bed, &mut wire(&certs, &bed));
    let mut clear = bed.client();
    clear.send(GET);
    assert!(clear.rest().starts_with("HTTP/1.1 400 "));
}

#[test]
fn an_orderly_end_says_so_and_a_broken_response_does_not() {
    let (certs, bed) = one();
    // Reads to `close_notify`; anything else is an error.
    served(&bed, &mut wire(&certs, &bed));
    let mut client = wire(&certs, &bed);
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi");
    client.until(b"hi");
    drop(origin);
    let _ = client.try_rest();
    let mut old = wire(&certs, &bed);
    old.send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n");
    old.until(b"hi");
    drop(origin);
    assert!(old.try_rest().is_err());
}

#[test]
fn an_idle_connection_ends_in_order() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = Bed::with(|settings| {
        settings.listen = certs.listeners(ONE);
        settings.timeouts.keep_alive = Duration::from_millis(80);
    });
    let mut client = wire(&certs, &bed);
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    client.head();
    assert_eq!(client.rest(), "hi");
}

#[test]
fn a_request_body_that_ends_without_close_notify_is_broken() {
    let (certs, bed) = one();
    let mut client = wire(&certs, &bed);
    client.send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    let mut origin = bed.origin.accept();
    origin.until(b"hi\r\n");
    client.cut();
    assert_eq!(origin.ended(), "");
}

#[test]
fn a_websocket_passes_over_tls_and_each_end_may_finish_alone() {
    let (certs, bed) = one();
    let mut client = wire(&certs, &bed);
    client
        .send("GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.head();
    assert_eq!(origin.take(5), "early");
    origin.send("hello");
    assert_eq!(client.take(5), "hello");
    client.send("last words");
    client.finish();
    assert_eq!(origin.rest(), "last words");
    origin.send("an answer");
    origin.finish();
    assert_eq!(client.rest(), "an answer");
}

#[test]
fn a_client_that_does_not_read_is_let_go_over_tls_too() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = Bed::with(|settings| {
        settings.listen = certs.listeners(ONE);
        settings.timeouts.body = Duration::from_millis(80);
    });
    let mut client = wire(&certs, &bed);
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
fn a_thousand_silent_clients_do_not_disturb_others() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let bed = Bed::with(|settings| {
        settings.listen = certs.listeners(ONE);
        settings.bounds.connections_per_address = 2000;
    });
    let config = certs.client().config();
    let mut idle: Vec<TcpStream> = (0..900)
        .map(|_| TcpStream::connect(bed.address).unwrap())
        .collect();
    let secured: Vec<_> = (0..100)
        .map(|_| Client::connect_with(config.clone(), bed.address, "a.test").unwrap())
        .collect();
    idle[0].write_all(&[22, 3]).unwrap();
    served(&bed, &mut wire(&certs, &bed));
    drop((idle, secured));
}
