//! Connections that begin with a header of the PROXY protocol.

use std::time::Duration;

use tidegate_policy::ProxyProtocol;
use tidegate_server::clock::Clock;
use tidegate_server::gateway::Settings;

use crate::bed::{Bed, Wire, field};
use crate::certs::Certs;

const TRUSTING: &str = "
gateway: { trusted_proxies: [127.0.0.1, 10.0.0.0/8] }
policies:
  - { name: per-client, key: [client.ip], limit: { quota: 1, window: 1h, burst: 1 } }
";
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

fn bed(version: ProxyProtocol) -> Bed {
    bed_with(version, TRUSTING, |_| {})
}

fn bed_with(version: ProxyProtocol, policies: &str, change: impl FnOnce(&mut Settings)) -> Bed {
    Bed::limited(policies, "[]", Clock::system(), |settings| {
        change(settings);
        settings.listen[0].proxy_protocol = Some(version);
    })
}

fn v1(client: &str) -> Vec<u8> {
    format!("PROXY TCP4 {client} 10.0.0.1 4711 443\r\n").into_bytes()
}

fn v2(command: u8, client: [u8; 4]) -> Vec<u8> {
    let addresses = [&client[..], &[10, 0, 0, 1, 0x12, 0x67, 1, 0xbb]].concat();
    [SIGNATURE, &[command, 0x11, 0, 12], &addresses].concat()
}

/// The client's address as the origin is told, of a request after `header`.
fn told(bed: &Bed, header: &[u8], request: &str) -> String {
    let mut client = bed.client();
    client.send([header, request.as_bytes()].concat());
    served(bed, &mut client)
}

fn served(bed: &Bed, client: &mut Wire) -> String {
    let mut origin = bed.origin.accept();
    let asked = origin.head();
    origin.send(OK);
    origin.finish();
    assert!(client.rest().ends_with("hi"));
    field(&asked, "x-forwarded-for").unwrap().to_owned()
}

/// The gateway ends the connection without a word and without asking the origin.
#[track_caller]
fn assert_closed(bed: &Bed, bytes: impl AsRef<[u8]>) {
    let mut client = bed.client();
    client.send(bytes);
    assert_eq!(client.ended(), "");
    assert!(!bed.origin.was_asked());
}

#[test]
fn the_address_in_the_header_is_the_client() {
    for (version, header) in [
        (ProxyProtocol::V1, v1("192.0.2.7")),
        (ProxyProtocol::V2, v2(0x21, [192, 0, 2, 7])),
        (ProxyProtocol::Any, v1("192.0.2.7")),
        (ProxyProtocol::Any, v2(0x21, [192, 0, 2, 7])),
    ] {
        assert_eq!(told(&bed(version), &header, GET), "192.0.2.7");
    }
}

#[test]
fn each_client_behind_the_balancer_has_a_count_of_its_own() {
    let bed = bed(ProxyProtocol::Any);
    told(&bed, &v1("192.0.2.7"), GET);
    told(&bed, &v2(0x21, [192, 0, 2, 8]), GET);
    let mut client = bed.client();
    client.send([v2(0x21, [192, 0, 2, 7]), GET.into()].concat());
    assert!(client.head().starts_with("HTTP/1.1 429 "));
}

#[test]
fn local_and_unknown_are_the_proxy_itself() {
    let one = bed(ProxyProtocol::V1);
    assert_eq!(told(&one, b"PROXY UNKNOWN\r\n", GET), "127.0.0.1");
    let two = bed(ProxyProtocol::V2);
    assert_eq!(told(&two, &v2(0x20, [192, 0, 2, 7]), GET), "127.0.0.1");
}

#[test]
fn a_forwarded_field_is_believed_only_if_the_address_in_the_header_is_trusted() {
    let asking = GET.replace("\r\n\r\n", "\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n");
    let bed = bed(ProxyProtocol::V2);
    told(&bed, &v2(0x21, [10, 9, 9, 9]), &asking);
    told(&bed, &v2(0x21, [192, 0, 2, 7]), &asking);
    // The first was 198.51.100.1, the second was not.
    for header in [v2(0x21, [10, 9, 9, 9]), v2(0x21, [192, 0, 2, 7])] {
        let mut client = bed.client();
        client.send([header, asking.clone().into_bytes()].concat());
        assert!(client.head().starts_with("HTTP/1.1 429 "));
    }
    told(&bed, &v2(0x21, [10, 9, 9, 9]), GET);
}

#[test]
fn who_is_no_trusted_proxy_is_not_listened_to() {
    let policies = "gateway: { trusted_proxies: [10.0.0.0/8] }\npolicies: []";
    for version in [ProxyProtocol::V1, ProxyProtocol::V2, ProxyProtocol::Any] {
        let bed = bed_with(version, policies, |_| {});
        assert_closed(&bed, [v1("192.0.2.7"), GET.into()].concat());
        assert_closed(&bed, [v2(0x21, [192, 0, 2, 7]), GET.into()].concat());
        assert_closed(&bed, GET);
    }
}

#[test]
fn a_connection_without_a_header_or_with_a_wrong_one_is_closed() {
    let bed = bed(ProxyProtocol::Any);
    assert_closed(&bed, GET);
    assert_closed(&bed, b"\x16\x03\x01\x02\x00\x01");
    assert_closed(&bed, [b"PROXY TCP4 192.0.2.7\r\n", GET.as_bytes()].concat());
    assert_closed(&bed, [v2(0x2f, [192, 0, 2, 7]), GET.into()].concat());
    assert_closed(&bed, [&[b'P'; 200][..], GET.as_bytes()].concat());
    // A length beyond the bound ends it, before those bytes have come.
    assert_closed(&bed, [SIGNATURE, &[0x21, 0x11, 0x10, 0x01]].concat());
}

#[test]
fn a_header_of_the_other_version_is_no_header() {
    assert_closed(&bed(ProxyProtocol::V1), v2(0x21, [192, 0, 2, 7]));
    assert_closed(&bed(ProxyProtocol::V2), v1("192.0.2.7"));
}

#[test]
fn a_header_may_come_in_pieces() {
    let policies = TRUSTING.replace("quota: 1, window: 1h, burst: 1", "quota: 1000, window: 1s");
    let bed = bed_with(ProxyProtocol::Any, &policies, |_| {});
    for header in [v1("192.0.2.7"), v2(0x21, [192, 0, 2, 7])] {
        let bytes = [header.clone(), GET.into()].concat();
        for at in 1..=header.len() {
            let mut client = bed.client();
            client.send(&bytes[..at]);
            client.send(&bytes[at..]);
            assert_eq!(served(&bed, &mut client), "192.0.2.7", "split at {at}");
        }
        let mut client = bed.client();
        for byte in &bytes {
            client.send([*byte]);
        }
        assert_eq!(served(&bed, &mut client), "192.0.2.7", "byte by byte");
    }
}

#[test]
fn a_header_that_does_not_come_to_its_end_is_not_waited_for() {
    let bed = bed_with(ProxyProtocol::Any, TRUSTING, |settings| {
        settings.timeouts.header = Duration::from_millis(80);
    });
    for beginning in [&b""[..], b"PROXY TCP4 192.0", SIGNATURE] {
        let mut client = bed.client();
        client.send(beginning);
        assert_eq!(client.ended(), "");
    }
    // The client's side of TCP may also end first.
    let mut client = bed.client();
    client.send("PROXY ");
    client.finish();
    assert_eq!(client.ended(), "");
}

#[test]
fn the_header_comes_before_tls_and_its_hello_may_follow_at_once() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    let listen = "  - { address: '127.0.0.1:0', tls: { certificates: { certificate: a.pem, key: a.key } } }";
    let bed = bed_with(ProxyProtocol::V2, TRUSTING, |settings| {
        settings.listen = certs.listeners(listen);
    });
    let header = v2(0x21, [192, 0, 2, 7]);
    let mut client = certs
        .client()
        .connect_after(&header, bed.address, "a.test")
        .wire();
    client.send(GET);
    assert_eq!(served(&bed, &mut client), "192.0.2.7");
    // Inside TLS it is no header any more.
    assert!(certs.client().connect(bed.address, "a.test").is_err());
}
