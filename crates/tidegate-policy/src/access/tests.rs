use std::net::IpAddr;

use ipnet::IpNet;
use proptest::prelude::*;
use tidegate_core::Timestamp;

use super::entries::{Entries, FOREVER};
use super::{Access, AccessList, MAX_LISTED, Standing};
use crate::{Identity, NamedSubject, PolicyFile};

const NOW: Timestamp = Timestamp::from_nanos(1_800_000_000_000_000_000);

fn entries(networks: &[&str]) -> Entries {
    let networks: Vec<(IpNet, Timestamp)> = networks
        .iter()
        .map(|text| (super::list_file::network(text).unwrap(), FOREVER))
        .collect();
    Entries::new(&networks, vec![])
}

/// Whoever is called ann, or only whom `issuer` calls so.
fn ann(issuer: Option<&str>) -> NamedSubject {
    NamedSubject {
        subject: "ann".into(),
        issuer: issuer.map(Into::into),
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn an_address_is_listed_however_it_is_spelt() {
    for listed in ["192.0.2.0/24", "::ffff:192.0.2.0/120", "64:ff9b::192.0.2.0/120"] {
        let entries = entries(&[listed]);
        for client in ["192.0.2.1", "::ffff:192.0.2.1", "64:ff9b::192.0.2.1"] {
            assert!(entries.hold_address(address(client), NOW), "{client} in {listed}");
        }
        for client in [
            "192.0.3.0",
            "192.0.1.255",
            "64:ff9b::192.0.3.1",
            "64:ff9b:1::192.0.2.1",
            "::",
        ] {
            assert!(
                !entries.hold_address(address(client), NOW),
                "{client} in {listed}"
            );
        }
    }
}

#[test]
fn networks_of_one_kind_do_not_reach_addresses_of_the_other() {
    assert!(!entries(&["::/0"]).hold_address(address("192.0.2.1"), NOW));
    assert!(!entries(&["0.0.0.0/0"]).hold_address(address("2001:db8::1"), NOW));
    assert!(entries(&["::/0"]).hold_address(address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), NOW));
    assert!(entries(&["0.0.0.0/0"]).hold_address(address("255.255.255.255"), NOW));
}

#[test]
fn an_entry_holds_up_to_its_moment_and_a_wider_one_around_it_goes_on() {
    let later = Timestamp::from_nanos(NOW.as_nanos() + 1);
    let list = |wide| {
        let networks = [
            ("10.0.0.0/8", wide),
            ("10.1.0.0/16", later),
            ("10.1.2.3/32", FOREVER),
        ];
        let networks: Vec<_> = networks
            .map(|(network, until)| (network.parse().unwrap(), until))
            .into();
        Entries::new(&networks, vec![(ann(None), later), (ann(Some("b")), FOREVER)])
    };
    let inside = address("10.1.9.9");
    assert!(list(NOW).hold_address(inside, NOW));
    assert!(!list(NOW).hold_address(inside, later));
    assert!(list(NOW).hold_address(address("10.1.2.3"), later));
    assert!(!list(NOW).hold_address(address("10.1.2.4"), later));
    assert!(list(FOREVER).hold_address(inside, later));
    let by_key = Identity::of_api_key("ann", None);
    assert!(list(NOW).hold_subject(&by_key, NOW) && !list(NOW).hold_subject(&by_key, later));
    let by_token = Identity::Known {
        subject: "ann".into(),
        tier: None,
        issuer: Some("b".into()),
        claims: None,
    };
    assert!(list(NOW).hold_subject(&by_token, later), "a wider one has ended");
}

#[test]
fn deny_comes_before_allow() {
    let list = |networks| AccessList {
        own: entries(networks),
        files: vec![],
    };
    let access = Access {
        allow: list(&["192.0.2.0/24", "198.51.100.1"]),
        deny: list(&["192.0.2.7", "198.51.100.0/24"]),
    };
    let standing = |client| access.standing(address(client), &Identity::Anonymous, NOW);
    assert_eq!(standing("192.0.2.1"), Standing::Allowed);
    assert_eq!(standing("192.0.2.7"), Standing::Denied);
    assert_eq!(standing("198.51.100.1"), Standing::Denied);
    assert_eq!(standing("203.0.113.1"), Standing::Unlisted);
}

#[test]
fn a_file_is_one_address_or_network_a_line() {
    let mut access = Access::default();
    access.deny.files.push(("bad.txt".to_owned(), Entries::default()));
    assert_eq!(access.files(), ["bad.txt"]);
    let text = "# bad\n 192.0.2.1 # neighbour\n\n2001:db8::/32; all of it\n";
    let file = |text| PolicyFile {
        name: "bad.txt",
        text,
    };
    access.read_file("bad.txt", file(text)).unwrap();
    assert!(access.denies_address(address("192.0.2.1"), NOW));
    assert!(access.denies_address(address("2001:db8:1::1"), NOW));

    let problems = access
        .read_file("bad.txt", file("192.0.2.1\n  192.0.2.0/33\nx\n"))
        .unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| (problem.line, problem.column))
        .collect();
    assert_eq!(places, [(2, 3), (3, 1)]);
    assert!(
        access.denies_address(address("192.0.2.1"), NOW),
        "the old entries stay"
    );
}

#[test]
fn a_file_has_a_million_lines_and_no_more() {
    let mut access = Access::default();
    let fits = format!("{}192.0.2.1\n", "\n".repeat(MAX_LISTED - 1));
    let file = |text| PolicyFile { name: "a", text };
    assert!(access.read_file("a", file(&fits)).is_ok());
    let beyond = format!("{fits}192.0.2.1\n");
    assert!(access.read_file("a", file(&beyond)).is_err());
}

proptest! {
    /// However networks lie in each other, an address is listed if one of those that hold it lasts.
    #[test]
    fn ranges_say_what_every_network_says(
        networks in prop::collection::vec((any::<u32>(), 20u8..=32, 0u64..4), 0..40),
        clients in prop::collection::vec(any::<u32>(), 1..40),
    ) {
        // Close together, so that they meet.
        let near = |bits: u32| std::net::Ipv4Addr::from_bits(0x0a00_0000 | (bits & 0xfff));
        let networks: Vec<(IpNet, Timestamp)> = networks
            .into_iter()
            .map(|(bits, prefix, until)| (IpNet::new(near(bits).into(), prefix).unwrap().trunc(), Timestamp::from_nanos(until)))
            .collect();
        let entries = Entries::new(&networks, vec![]);
        let now = Timestamp::from_nanos(1);
        for client in clients.into_iter().map(near).chain([near(0), near(0xfff)]) {
            let expected = networks.iter().any(|(network, until)| network.contains(&IpAddr::V4(client)) && now < *until);
            prop_assert_eq!(entries.hold_address(client.into(), now), expected, "{}", client);
        }
    }
}
