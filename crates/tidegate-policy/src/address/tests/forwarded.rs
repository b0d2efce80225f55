//! `Forwarded` in place of `X-Forwarded-For`.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;

use super::{hops, ip, proxies};
use crate::address::{MAX_FORWARDED_ENTRIES, canonical, node};
use crate::{ForwardedField, Trust};

fn fields(lines: &[&[u8]]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append("forwarded", HeaderValue::from_bytes(line).unwrap());
    }
    fields
}

#[track_caller]
fn assert_client(trust: &Trust, lines: &[&str], client: &str) {
    let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let found = trust.client(ip("10.0.0.1"), &fields(&bytes), ForwardedField::Forwarded);
    assert_eq!(found, ip(client), "{trust:?} {lines:?}");
}

#[test]
fn nodes_are_read_as_the_rfc_writes_them() {
    for (element, address) in [
        ("for=192.0.2.60", Some("192.0.2.60")),
        ("FOR=192.0.2.60", Some("192.0.2.60")),
        ("for=\"192.0.2.60\"", Some("192.0.2.60")),
        ("for=\"192.0.2.60:4711\"", Some("192.0.2.60")),
        ("for=192.0.2.60:4711", Some("192.0.2.60")),
        ("for=\"192.0.2.60:_port\"", Some("192.0.2.60")),
        ("For=\"[2001:db8:cafe::17]\"", Some("2001:db8:cafe::17")),
        ("For=\"[2001:db8:cafe::17]:4711\"", Some("2001:db8:cafe::17")),
        ("for=\"[::ffff:192.0.2.60]\"", Some("192.0.2.60")),
        ("proto=http; for=192.0.2.43 ;by=203.0.113.43", Some("192.0.2.43")),
        ("host=\"a,b;for=1.1.1.1\";for=192.0.2.43", Some("192.0.2.43")),
        ("for=unknown", None),
        ("for=\"unknown\"", None),
        ("for=_hidden", None),
        ("for=\"_SEVKISEK\"", None),
        ("by=203.0.113.43", None),
        ("for=192.0.2.43;for=192.0.2.44", None),
        ("192.0.2.43", None),
        ("for=2001:db8::1", None),
        ("for=\"2001:db8::1\"", None),
        ("for=\"[2001:db8::1\"", None),
        ("for=\"[192.0.2.43]\"", None),
        ("for=\"[fe80::1%eth0]\"", None),
        ("for=\"192.0.2.43", None),
        ("for=192.0.2.43\"", None),
        ("for=\"192.0.2.43:\"", None),
        ("for=\"192.0.2.43:_\"", None),
        ("for=\"192.0.2.43:70000\"", None),
        ("for = 192.0.2.43", None),
        ("for=192.0.2.43;", None),
        ("for=", None),
        ("", None),
    ] {
        assert_eq!(node::address(element.as_bytes()), address.map(ip), "{element}");
    }
}

#[test]
fn all_lines_are_read_from_the_right_as_far_as_trust_goes() {
    let trust = proxies(&["10.0.0.0/8"]);
    for (lines, client) in [
        (&["for=192.0.2.7"] as &[&str], "192.0.2.7"),
        (
            &["for=1.1.1.1, for=192.0.2.7;proto=https, for=10.0.0.2"],
            "192.0.2.7",
        ),
        (
            &["for=1.1.1.1", "for=192.0.2.7", "for=10.0.0.2;by=10.0.0.3"],
            "192.0.2.7",
        ),
        (&[", for=192.0.2.7,, ", ""], "192.0.2.7"),
        (&["for=10.0.0.9, for=10.0.0.2"], "10.0.0.9"),
        (&["for=192.0.2.7, for=unknown, for=10.0.0.2"], "10.0.0.2"),
        (&["for=192.0.2.7, for=_x"], "10.0.0.1"),
        (&["for=192.0.2.7, proto=http"], "10.0.0.1"),
        (&["for=192.0.2.7;host=\"a,b\""], "192.0.2.7"),
        (&["for=192.0.2.7;host=\"a\\\",for=1.1.1.1\""], "192.0.2.7"),
    ] {
        assert_client(&trust, lines, client);
    }
    assert_client(&hops(2), &["for=1.1.1.1, for=2.2.2.2", "for=3.3.3.3"], "2.2.2.2");
    assert_client(&Trust::Nobody, &["for=1.1.1.1"], "10.0.0.1");
}

#[test]
fn quotes_that_a_client_leaves_open_do_not_reach_what_proxies_append() {
    let trust = proxies(&["10.0.0.0/8"]);
    for forged in [
        "for=\"1.1.1.1",
        "\"",
        "for=1.1.1.1;x=\"\\",
        "\\",
        "a=\"b\\\"",
        "\"\\\"\"\"",
        "for=\"[::1]:",
    ] {
        assert_client(
            &trust,
            &[&format!("{forged}, for=192.0.2.7, for=10.0.0.2")],
            "192.0.2.7",
        );
        assert_client(&trust, &[forged, "for=192.0.2.7"], "192.0.2.7");
    }
}

#[test]
fn only_the_chosen_field_is_looked_at() {
    let trust = proxies(&["10.0.0.0/8"]);
    let mut both = fields(&[b"for=192.0.2.7"]);
    both.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.8"));
    let client = |field| trust.client(ip("10.0.0.1"), &both, field);
    assert_eq!(client(ForwardedField::Forwarded), ip("192.0.2.7"));
    assert_eq!(client(ForwardedField::XForwardedFor), ip("192.0.2.8"));
}

#[test]
fn no_more_than_the_stated_entries_are_read() {
    let trust = proxies(&["10.0.0.0/8"]);
    let chain = |count: usize| format!("for=192.0.2.7{}", ",for=10.0.0.2".repeat(count));
    assert_client(&trust, &[&chain(MAX_FORWARDED_ENTRIES - 1)], "192.0.2.7");
    assert_client(&trust, &[&chain(MAX_FORWARDED_ENTRIES)], "10.0.0.2");
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("for=".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        "[,;=\\[\\]:._ ]",
        "10\\.0\\.0\\.[0-9]",
        "[ -~]{0,8}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn what_a_client_writes_in_front_never_changes_what_a_trusted_proxy_appended(forged in any_text(), client: IpAddr, same_line: bool) {
        prop_assume!(!super::super::covers(&["10.0.0.0/8".parse().unwrap()], canonical(client)));
        let client = canonical(client);
        let honest = match client {
            IpAddr::V4(address) => format!("for={address}, for=10.0.0.2"),
            IpAddr::V6(address) => format!("for=\"[{address}]:80\", for=10.0.0.2"),
        };
        let joined = [&forged[..], b", ", honest.as_bytes()].concat();
        let lines = if same_line { vec![&joined[..]] } else { vec![&forged[..], honest.as_bytes()] };
        let found = proxies(&["10.0.0.0/8"]).client(ip("10.0.0.1"), &fields(&lines), ForwardedField::Forwarded);
        prop_assert_eq!(found, client);
    }
}
