use std::net::IpAddr;
use std::num::NonZeroU8;

use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use proptest::prelude::*;

use super::{AddressPart, MAX_FORWARDED_BYTES, MAX_FORWARDED_ENTRIES, Prefixes, canonical, entry};

mod forwarded;
use crate::{ForwardedField, Gateway, Trust};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn proxies(networks: &[&str]) -> Trust {
    Trust::Proxies(
        networks
            .iter()
            .map(|text| text.parse::<IpNet>().unwrap())
            .collect(),
    )
}

fn hops(count: u8) -> Trust {
    Trust::Hops(NonZeroU8::new(count).unwrap())
}

fn forwarded(lines: &[&str]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append(
            "x-forwarded-for",
            HeaderValue::from_bytes(line.as_bytes()).unwrap(),
        );
    }
    fields
}

#[track_caller]
fn assert_client(trust: &Trust, peer: &str, lines: &[&str], client: &str) {
    let found = trust.client(ip(peer), &forwarded(lines), ForwardedField::XForwardedFor);
    assert_eq!(found, ip(client), "{trust:?} {peer} {lines:?}");
}

#[test]
fn nobody_is_believed_by_default() {
    assert_client(&Trust::default(), "10.0.0.1", &["192.0.2.7"], "10.0.0.1");
}

#[test]
fn an_untrusted_peer_is_the_client_whatever_it_forwards() {
    let trust = proxies(&["10.0.0.0/8"]);
    assert_client(&trust, "203.0.113.9", &["192.0.2.7"], "203.0.113.9");
    assert_client(&trust, "203.0.113.9", &["10.0.0.1"], "203.0.113.9");
}

#[test]
fn the_first_untrusted_address_from_the_right_is_the_client() {
    let trust = proxies(&["10.0.0.0/8", "2001:db8:aaaa::/48"]);
    for (lines, client) in [
        (&["192.0.2.7"] as &[&str], "192.0.2.7"),
        (&["1.1.1.1, 192.0.2.7"], "192.0.2.7"),
        (&["1.1.1.1, 192.0.2.7, 10.0.0.2"], "192.0.2.7"),
        (&["1.1.1.1,192.0.2.7,10.0.0.2 ,\t2001:db8:aaaa::5"], "192.0.2.7"),
        (&["1.1.1.1", "192.0.2.7", "10.0.0.2"], "192.0.2.7"),
        (&["1.1.1.1, 192.0.2.7", "10.0.0.2, 10.0.0.3"], "192.0.2.7"),
        (&[", 192.0.2.7,, ", "", "10.0.0.2,"], "192.0.2.7"),
    ] {
        assert_client(&trust, "10.0.0.1", lines, client);
    }
}

#[test]
fn when_all_are_trusted_the_leftmost_is_the_client() {
    assert_client(
        &proxies(&["10.0.0.0/8"]),
        "10.0.0.1",
        &["10.0.0.9, 10.0.0.2"],
        "10.0.0.9",
    );
    assert_client(&proxies(&["10.0.0.0/8"]), "10.0.0.1", &[], "10.0.0.1");
}

#[test]
fn an_entry_that_is_no_address_stops_the_walk_at_the_last_good_one() {
    let trust = proxies(&["10.0.0.0/8"]);
    for bad in [
        "unknown",
        "_hidden",
        "for=192.0.2.7",
        "192.0.2",
        "192.0.2.07",
        "192.0.2.7:",
        "192.0.2.7:70000",
        "192.0.2.7:+80",
        "[2001:db8::1",
        "[2001:db8::1]x",
        "[2001:db8::1]:",
        "[192.0.2.7]",
        "fe80::1%",
        "::1::",
        "\"192.0.2.7\"",
        "%",
        ":",
        "[]",
        "é",
    ] {
        let line = format!("192.0.2.7, {bad}, 10.0.0.2");
        assert_client(&trust, "10.0.0.1", &[&line], "10.0.0.2");
    }
}

#[test]
fn ports_brackets_and_zones_are_taken_off() {
    for (text, address) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:443", "192.0.2.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:443", "fe80::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("[::FFFF:c000:207]:443", "192.0.2.7"),
    ] {
        assert_eq!(entry::address(text.as_bytes()), Some(ip(address)), "{text}");
    }
}

#[test]
fn mapped_forms_are_unmapped_before_anything_else() {
    assert_client(&Trust::Nobody, "::ffff:192.0.2.7", &[], "192.0.2.7");
    assert_client(
        &proxies(&["10.0.0.0/8"]),
        "::ffff:10.0.0.1",
        &["192.0.2.7, ::ffff:10.0.0.2"],
        "192.0.2.7",
    );
    assert_client(
        &proxies(&["::ffff:10.0.0.0/104"]),
        "10.0.0.1",
        &["192.0.2.7"],
        "192.0.2.7",
    );
}

#[test]
fn loopback_and_compatible_forms_are_not_taken_for_ipv4() {
    assert_client(&Trust::Nobody, "::1", &[], "::1");
    assert_client(
        &proxies(&["10.0.0.0/8"]),
        "::10.0.0.1",
        &["192.0.2.7"],
        "::10.0.0.1",
    );
}

#[test]
fn trusting_all_of_ipv6_does_not_trust_ipv4() {
    assert_client(&proxies(&["::/0"]), "10.0.0.1", &["192.0.2.7"], "10.0.0.1");
    assert_client(&proxies(&["0.0.0.0/0"]), "::1", &["192.0.2.7"], "::1");
}

#[test]
fn hops_count_from_the_right() {
    let lines = &["1.1.1.1, 2.2.2.2", "3.3.3.3"];
    assert_client(&hops(1), "10.0.0.1", lines, "3.3.3.3");
    assert_client(&hops(2), "10.0.0.1", lines, "2.2.2.2");
    assert_client(&hops(3), "10.0.0.1", lines, "1.1.1.1");
    assert_client(&hops(200), "10.0.0.1", lines, "1.1.1.1");
    assert_client(&hops(3), "10.0.0.1", &["1.1.1.1, unknown, 3.3.3.3"], "3.3.3.3");
    assert_client(&hops(1), "::ffff:10.0.0.1", &[], "10.0.0.1");
}

#[test]
fn no_more_than_the_stated_entries_are_read() {
    let trust = proxies(&["10.0.0.0/8"]);
    let chain = |count: usize| format!("192.0.2.7{}", ",10.0.0.2".repeat(count));
    assert_client(
        &trust,
        "10.0.0.1",
        &[&chain(MAX_FORWARDED_ENTRIES - 1)],
        "192.0.2.7",
    );
    assert_client(&trust, "10.0.0.1", &[&chain(MAX_FORWARDED_ENTRIES)], "10.0.0.2");
}

#[test]
fn no_more_than_the_stated_bytes_are_read() {
    let trust = proxies(&["10.0.0.0/8"]);
    let padded = |bytes: usize| {
        format!(
            "192.0.2.7,{}10.0.0.2",
            " ".repeat(bytes - "192.0.2.7,10.0.0.2".len() - 1)
        )
    };
    assert_client(&trust, "10.0.0.1", &[&padded(MAX_FORWARDED_BYTES)], "192.0.2.7");
    assert_client(
        &trust,
        "10.0.0.1",
        &[&padded(MAX_FORWARDED_BYTES + 1)],
        "10.0.0.2",
    );
}

#[test]
fn ipv6_is_counted_by_prefix_and_ipv4_whole() {
    let part = |text: &str, prefix| AddressPart::new(ip(text), Prefixes::ipv6(prefix));
    assert_eq!(part("192.0.2.7", 64).as_ref(), [192, 0, 2, 7]);
    assert_eq!(part("::ffff:192.0.2.7", 64), part("192.0.2.7", 64));
    assert_eq!(
        part("2001:db8:1:2::1", 64),
        part("2001:db8:1:2:ffff:ffff:ffff:ffff", 64)
    );
    assert_ne!(part("2001:db8:1:2::1", 64), part("2001:db8:1:3::1", 64));
    assert_eq!(part("2001:db8:1:2::1", 56), part("2001:db8:1:ff::1", 56));
    assert_ne!(part("2001:db8::1", 128), part("2001:db8::2", 128));
    assert_eq!(part("2001:db8::1", 200), part("2001:db8::1", 128));
    assert_eq!(part("2001:db8::1", 0), part("fe80::1", 0));
    let mut expected = [0; 17];
    expected[..8].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2]);
    expected[16] = 64;
    assert_eq!(part("2001:db8:1:2::1", 64).as_ref(), expected);
}

#[test]
fn an_address_behind_nat64_is_its_ipv4_address() {
    for trusted in ["10.0.0.0/8", "64:ff9b::10.0.0.0/104", "::ffff:10.0.0.0/104"] {
        for peer in ["64:ff9b::10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1"] {
            assert_client(&proxies(&[trusted]), peer, &["64:ff9b::192.0.2.7"], "192.0.2.7");
        }
    }
    // Networks of IPv6 do not reach it, and other prefixes of NAT64 are not known.
    assert_client(
        &proxies(&["64:ff9b::/32"]),
        "64:ff9b::10.0.0.1",
        &["192.0.2.7"],
        "10.0.0.1",
    );
    assert_client(
        &proxies(&["10.0.0.0/8"]),
        "64:ff9b:1::10.0.0.1",
        &["192.0.2.7"],
        "64:ff9b:1::10.0.0.1",
    );
}

#[test]
fn clients_behind_nat64_do_not_share_a_counter() {
    let part = |text: &str| AddressPart::new(ip(text), Prefixes::ipv6(64));
    assert_ne!(part("64:ff9b::192.0.2.7"), part("64:ff9b::192.0.2.8"));
    assert_eq!(part("64:ff9b::192.0.2.7"), part("192.0.2.7"));
    assert_eq!(part("64:ff9b:1::1"), part("64:ff9b:1::2"));
}

#[test]
fn ipv4_may_be_counted_by_a_prefix_too() {
    let part = |text: &str, v4| AddressPart::new(ip(text), Prefixes { v4, v6: 48 });
    assert_eq!(part("192.0.2.7", 24), part("::ffff:192.0.2.8", 24));
    assert_ne!(part("192.0.2.7", 24), part("192.0.3.7", 24));
    assert_ne!(part("192.0.2.0", 24), part("192.0.2.0", 32));
    assert_eq!(part("192.0.2.7", 0), part("198.51.100.1", 0));
    assert_eq!(part("192.0.2.7", 24).to_string(), "192.0.2.0/24");
    assert_eq!(part("192.0.2.7", 32).to_string(), "192.0.2.7");
    assert_eq!(part("2001:db8:1:2::1", 24).to_string(), "2001:db8:1::/48");
}

fn any_trust() -> impl Strategy<Value = Trust> {
    prop_oneof![
        Just(Trust::Nobody),
        Just(proxies(&["10.0.0.0/8", "fd00::/8"])),
        (1u8..5).prop_map(hops),
    ]
}

/// Lines as an attacker or a sloppy proxy would write them.
fn any_lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        any::<IpAddr>().prop_map(|address| address.to_string()),
        "10\\.0\\.0\\.[0-9]{1,3}(:[0-9]{0,6})?",
        "\\[[0-9a-f:%]{0,12}\\]?(:[0-9]{0,6})?",
        "[ ,.:%0-9a-f\"\\[\\]]{0,20}",
    ];
    let line = prop_oneof![
        4 => prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.join(",").into_bytes()),
        1 => prop::collection::vec(0x20u8..=0xff, 0..40)
            .prop_map(|bytes| bytes.into_iter().filter(|&byte| byte != 0x7f).collect()),
    ];
    prop::collection::vec(line, 0..4)
}

fn fields(lines: &[Vec<u8>]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
    }
    fields
}

proptest! {
    #[test]
    fn an_untrusted_peers_header_never_changes_the_answer(peer: IpAddr, lines in any_lines()) {
        prop_assume!(!super::covers(&["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()], canonical(peer)));
        let trust = proxies(&["10.0.0.0/8", "fd00::/8"]);
        prop_assert_eq!(trust.client(peer, &fields(&lines), ForwardedField::XForwardedFor), canonical(peer));
    }

    #[test]
    fn the_answer_is_always_canonical_and_the_peer_or_an_entry(trust in any_trust(), lines in any_lines()) {
        let peer = ip("10.0.0.1");
        let client = trust.client(peer, &fields(&lines), ForwardedField::XForwardedFor);
        prop_assert_eq!(client, canonical(client));
        let mut entries = lines.iter().flat_map(|line| line.split(|&byte| byte == b','));
        prop_assert!(client == peer || entries.any(|text| entry::address(text.trim_ascii()) == Some(client)));
    }

    #[test]
    fn what_a_client_writes_in_front_never_changes_what_a_trusted_proxy_appended(forged in any_lines(), client: IpAddr) {
        let trust = proxies(&["10.0.0.0/8", "fd00::/8"]);
        let honest = vec![format!("{client}, 10.0.0.2").into_bytes()];
        prop_assume!(!super::covers(&["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()], canonical(client)));
        let all: Vec<_> = forged.into_iter().chain(honest).collect();
        prop_assert_eq!(trust.client(ip("10.0.0.1"), &fields(&all), ForwardedField::XForwardedFor), canonical(client));
    }
}

#[test]
fn a_proxy_that_asks_is_believed_once_whoever_is_trusted_besides() {
    let behind = |trust: Trust, lines: &[&str]| {
        let gateway = Gateway {
            trust,
            ..Gateway::default()
        };
        gateway.client_behind(ip("127.0.0.1"), &forwarded(lines))
    };
    let lines = ["192.0.2.1, 10.0.0.2", "10.0.0.3"];
    for (trust, client) in [
        (Trust::Nobody, "10.0.0.3"),
        (proxies(&["10.0.0.3/32"]), "10.0.0.2"),
        (proxies(&["10.0.0.0/8"]), "192.0.2.1"),
        (proxies(&["127.0.0.1/32"]), "10.0.0.3"),
        (hops(1), "10.0.0.3"),
        (hops(2), "10.0.0.2"),
    ] {
        assert_eq!(behind(trust.clone(), &lines), Some(ip(client)), "{trust:?}");
    }
    assert_eq!(behind(Trust::Nobody, &[]), None);
    assert_eq!(behind(Trust::Nobody, &["unknown"]), None);
    assert_eq!(behind(proxies(&["0.0.0.0/0"]), &["192.0.2.1, unknown"]), None);
    assert_eq!(
        behind(Trust::Nobody, &["unknown, ::ffff:192.0.2.1"]),
        Some(ip("192.0.2.1"))
    );
}
