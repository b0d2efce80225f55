//! Who shares a counter and who does not.

mod common;
#[path = "keys/subjects.rs"]
mod subjects;

use std::collections::HashMap;

use common::{Asked, keys, set};
use proptest::prelude::*;
use tidegate_core::{Table, TableSize, Timestamp};
use tidegate_policy::{Identity, PolicySet, Refusal};

fn known(subject: &str, tier: Option<&str>) -> Identity {
    Identity::of_api_key(subject, tier.map(Into::into))
}

/// A set of one policy called `p` that counts by `key`, with more of its fields in `more`.
fn counting_by(key: &str, more: &str) -> PolicySet {
    set(&format!(
        "policies:\n  - {{ name: p, key: {key}, limit: {{ quota: 9, window: 1s }}, {more} }}\n"
    ))
}

fn with_kind(values: &[&'static str]) -> Asked {
    Asked {
        headers: values.to_vec(),
        ..Asked::default()
    }
}

#[allow(clippy::unwrap_used, reason = "the addresses are written here")]
fn from(client: &str) -> Asked {
    Asked {
        client: client.parse().unwrap(),
        ..Asked::default()
    }
}

/// What a request to the set of the property below is counted by: everything that its key may depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counted {
    policy: String,
    limit: usize,
    values: Vec<String>,
}

proptest! {
    #[test]
    fn keys_are_equal_exactly_when_all_that_is_counted_by_is_equal(
        requests in prop::collection::vec(("[ab]{0,3}", "[ab]{0,3}", "[ab]{1,2}"), 2..40),
    ) {
        let set = set("policies:
  - { name: one, key: [header.x-a, header.x-b], limit: { quota: 9, window: 1s }, on_missing: skip }
  - { name: two, key: [header.x-b, header.x-a], limits: [{ quota: 9, window: 1s }, { quota: 9, window: 1m }], on_missing: skip }
  - { name: three, key: [header.x-a], limit: { quota: 9, window: 1s }, on_missing: skip }
  - { name: three-too, key: [header.x-a], limit: { quota: 9, window: 1s }, on_missing: skip }
  - { name: four, match: { path: '/{id}' }, key: [path.id], limit: { quota: 9, window: 1s } }
");
        let mut seen = HashMap::new();
        for (a, b, id) in requests {
            let asked = Asked {
                path: format!("/{id}"),
                fields: vec![("x-a", a.clone()), ("x-b", b.clone())],
                ..Asked::default()
            };
            let counted = asked.plan(&set, |plan| {
                let values = |policy: &str| match policy {
                    "one" => vec![a.clone(), b.clone()],
                    "two" => vec![b.clone(), a.clone()],
                    "three" | "three-too" => vec![a.clone()],
                    _ => vec![id.clone()],
                };
                let counted = plan.sources.iter().map(|source| Counted {
                    policy: source.policy.name.to_string(),
                    limit: source.limit_index,
                    values: values(&source.policy.name),
                });
                plan.charges.iter().map(|charge| charge.key).zip(counted).collect::<Vec<_>>()
            });
            for (key, counted) in counted {
                prop_assert!(counted.values.iter().all(|value| !value.is_empty()), "an empty part made a key");
                let earlier = seen.insert(key, counted.clone());
                prop_assert!(earlier.is_none_or(|earlier| earlier == counted), "{counted:?} shares a key");
            }
        }
        let distinct: std::collections::HashSet<_> = seen.values().collect();
        prop_assert_eq!(distinct.len(), seen.len(), "one counter has two keys");
    }
}

#[test]
fn where_one_part_ends_and_the_next_begins_matters() {
    let set = counting_by("[header.x-a, header.x-b]", "");
    let with = |a: &str, b: &str| Asked {
        fields: vec![("x-a", a.to_owned()), ("x-b", b.to_owned())],
        ..Asked::default()
    };
    assert_ne!(keys(&set, &with("ab", "c")), keys(&set, &with("a", "bc")));
    assert_eq!(keys(&set, &with("ab", "c")), keys(&set, &with("ab", "c")));
}

#[test]
fn an_ipv6_client_is_counted_by_its_network_and_a_mapped_one_as_ipv4() {
    let set = counting_by("[client.ip]", "");
    assert_eq!(
        keys(&set, &from("2001:db8::1")),
        keys(&set, &from("2001:db8::ffff"))
    );
    assert_ne!(
        keys(&set, &from("2001:db8::1")),
        keys(&set, &from("2001:db8:0:1::1"))
    );
    assert_eq!(
        keys(&set, &from("::ffff:192.0.2.7")),
        keys(&set, &from("192.0.2.7"))
    );
    assert_ne!(keys(&set, &from("192.0.2.8")), keys(&set, &from("192.0.2.7")));
}

#[test]
fn the_prefix_of_ipv6_clients_is_the_files() {
    let yaml = "identity: { ipv6_prefix: 48 }
policies: [{ name: p, key: [client.ip], limit: { quota: 9, window: 1s } }]";
    let set = set(yaml);
    assert_eq!(
        keys(&set, &from("2001:db8:0:1::1")),
        keys(&set, &from("2001:db8:0:2::1"))
    );
    assert_ne!(
        keys(&set, &from("2001:db8:1::1")),
        keys(&set, &from("2001:db8:2::1"))
    );
}

#[test]
fn a_policy_may_count_by_a_wider_network_beside_another() {
    let set = set("
policies:
  - { name: client, key: [client.ip], limit: { quota: 9, window: 1s } }
  - { name: site, key: [client.ip/48], limit: { quota: 9, window: 1s } }
  - { name: net, key: [client.ip/24/48], limit: { quota: 9, window: 1s } }");
    let shared = |one: &str, other: &str| -> Vec<bool> {
        let (one, other) = (keys(&set, &from(one)), keys(&set, &from(other)));
        one.iter().zip(&other).map(|(one, other)| one == other).collect()
    };
    assert_eq!(shared("2001:db8:1:1::1", "2001:db8:1:1::2"), [true, true, true]);
    assert_eq!(shared("2001:db8:1:1::1", "2001:db8:1:2::1"), [false, true, true]);
    assert_eq!(shared("2001:db8:1::1", "2001:db8:2::1"), [false, false, false]);
    assert_eq!(shared("192.0.2.7", "192.0.2.8"), [false, false, true]);
    assert_eq!(
        shared("64:ff9b::192.0.2.7", "::ffff:192.0.2.7"),
        [true, true, true]
    );
    assert_eq!(
        shared("64:ff9b::192.0.2.7", "64:ff9b::192.0.3.7"),
        [false, false, false]
    );
}

#[test]
fn a_missing_empty_or_repeated_part_follows_on_missing() {
    for lacking in [&[][..], &[""], &["a", "a"]] {
        let asked = with_kind(lacking);
        assert_uncharged(&counting_by("[header.x-kind]", ""), &asked, true);
        assert_uncharged(&counting_by("[header.x-kind]", "on_missing: deny"), &asked, true);
        assert_uncharged(&counting_by("[header.x-kind]", "on_missing: skip"), &asked, false);
        assert_eq!(
            keys(&counting_by("[header.x-kind]", "on_missing: fallback"), &asked).len(),
            1
        );
    }
    for part in ["query.kind", "cookie.kind"] {
        assert_uncharged(&counting_by(&format!("[{part}]"), ""), &Asked::default(), true);
    }
    let no_host = Asked {
        host: String::new(),
        ..Asked::default()
    };
    assert_uncharged(&counting_by("[host]", ""), &no_host, true);
}

/// Asserts that `set` charges nobody for `asked`, and whether it refuses it.
fn assert_uncharged(set: &PolicySet, asked: &Asked, refused: bool) {
    asked.plan(set, |plan| {
        assert!(plan.charges.is_empty() && plan.sources.is_empty());
        let is_refusal = matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. }));
        assert_eq!(is_refusal, refused, "{asked:?}");
    });
}

#[test]
fn the_address_that_stands_in_for_a_header_is_not_a_header_of_that_text() {
    let set = counting_by("[header.x-kind]", "on_missing: fallback");
    let absent = keys(&set, &from("192.0.2.1"));
    assert_ne!(absent, keys(&set, &with_kind(&["192.0.2.1"])));
    assert_ne!(absent, keys(&set, &from("192.0.2.2")));
    let four_bytes = Asked {
        client: "65.66.67.68".parse().unwrap(),
        ..Asked::default()
    };
    assert_ne!(keys(&set, &four_bytes), keys(&set, &with_kind(&["ABCD"])));
}

#[test]
fn a_policy_in_shadow_mode_refuses_nobody() {
    let set = set("policies:
  - { name: rehearsed, key: [header.x-kind], mode: shadow, limit: { quota: 9, window: 1s } }
  - { name: real, key: [client.ip], limit: { quota: 9, window: 1s } }
");
    Asked::default().plan(&set, |plan| {
        assert!(plan.refusal.is_none());
        assert_eq!(plan.charges.len(), 1);
        assert!(matches!(
            plan.shadow_refusals[..],
            [Refusal::MissingKeyPart {
                part: "header.x-kind",
                ..
            }]
        ));
    });
}

#[test]
fn a_refused_request_charges_nobody() {
    let set = set("policies:
  - { name: first, key: [client.ip], limit: { quota: 9, window: 1s } }
  - { name: second, key: [header.x-kind], limit: { quota: 9, window: 1s } }
  - { name: third, key: [client.ip], limit: { quota: 9, window: 1s } }
");
    assert_uncharged(&set, &Asked::default(), true);
}

#[test]
fn every_spelling_of_a_segment_is_one_counter() {
    let set = counting_by("[path.id]", "match: { path: '/users/{id}/**' }");
    let at = |path: &str| Asked {
        path: path.to_owned(),
        ..Asked::default()
    };
    let plain = keys(&set, &at("/users/1/posts"));
    for path in [
        "/users/%31/posts",
        "//users/1",
        "/users/./1",
        "/users/1;x=2/posts",
        "/a/../users/1",
    ] {
        assert_eq!(keys(&set, &at(path)), plain, "{path}");
    }
    assert_ne!(keys(&set, &at("/users/2/posts")), plain);
}

#[test]
fn a_named_segment_is_found_in_the_pattern_that_matched() {
    let set = counting_by(
        "[path.id]",
        "match: { path: ['/users/{id}', '/old/api/users/{id}'] }",
    );
    let at = |path: &str| Asked {
        path: path.to_owned(),
        ..Asked::default()
    };
    assert_eq!(keys(&set, &at("/users/1")), keys(&set, &at("/old/api/users/1")));
    assert_ne!(keys(&set, &at("/users/1")), keys(&set, &at("/old/api/users/2")));
}

#[test]
fn a_request_carries_sixteen_charges_and_an_ambiguous_one_with_more_is_refused() {
    let limits = ["{ quota: 9, window: 1s }"; 8].join(", ");
    let policy = |name: &str, path: &str| {
        format!("  - {{ name: {name}, match: {{ path: {path} }}, key: [client.ip], limits: [{limits}] }}\n")
    };
    let yaml = [
        "policies:\n".to_owned(),
        policy("a1", "/a/**"),
        policy("a2", "/a/**"),
        policy("b", "/b/**"),
    ];
    let set = set(&yaml.concat());
    let at = |path: &str| Asked {
        path: path.to_owned(),
        ..Asked::default()
    };
    assert_eq!(keys(&set, &at("/a/x")).len(), 16);
    at("/a/../b").plan(&set, |plan| {
        assert!(matches!(plan.refusal, Some(Refusal::AmbiguousPath)));
        assert!(plan.charges.is_empty());
    });
}

#[test]
fn a_path_with_too_many_readings_is_refused_by_policies_that_enforce_only() {
    let asked = Asked {
        path: "/%61".to_owned() + &"/a".repeat(1000),
        ..Asked::default()
    };
    asked.plan(&counting_by("[client.ip]", "mode: enforce"), |plan| {
        assert!(matches!(plan.refusal, Some(Refusal::AmbiguousPath)));
        assert!(plan.charges.is_empty());
    });
    asked.plan(&counting_by("[client.ip]", "mode: shadow"), |plan| {
        assert!(plan.refusal.is_none() && plan.charges.is_empty());
        assert!(matches!(plan.shadow_refusals[..], [Refusal::AmbiguousPath]));
    });
    asked.plan(&set("policies: []"), |plan| {
        assert!(plan.refusal.is_none() && plan.shadow_refusals.is_empty());
    });
}

#[test]
fn no_spelling_of_a_session_or_of_credentials_has_a_counter_of_its_own() {
    let with = |name, value: &str| Asked {
        fields: vec![(name, value.to_owned())],
        ..Asked::default()
    };
    for (part, name, spellings) in [
        (
            "cookie.kind",
            "cookie",
            ["kind=abc", "kind=%61bc", "kind=\"abc\""],
        ),
        (
            "header.authorization",
            "authorization",
            ["Bearer abc", "bearer abc", "BEARER   abc"],
        ),
    ] {
        let set = counting_by(&format!("[{part}]"), "");
        let [first, others @ ..] = spellings.map(|value| keys(&set, &with(name, value)));
        assert!(
            first.len() == 1 && others.iter().all(|other| *other == first),
            "{part}"
        );
        assert_ne!(first, keys(&set, &with(name, "kind=abd Bearer abd")), "{part}");
    }
}

#[test]
fn values_that_are_not_utf8_have_counters_of_their_own() {
    let set = counting_by("[query.kind]", "");
    let with = |value| Asked {
        query: vec![value],
        ..Asked::default()
    };
    assert_ne!(keys(&set, &with("%e9")), keys(&set, &with("%f6")));
}

#[test]
fn a_changed_quota_goes_on_with_the_old_counter_and_a_changed_algorithm_does_not() {
    let under = |limit: &str| {
        let policies = format!("policies: [{{ name: p, key: [client.ip], limit: {{ {limit} }} }}]");
        keys(&set(&policies), &Asked::default())
    };
    let before = under("quota: 9, window: 1s");
    assert_eq!(under("quota: 90, window: 1m, burst: 5"), before);
    assert_ne!(under("algorithm: sliding_window, quota: 9, window: 1s"), before);
}

#[test]
fn the_same_value_of_another_field_is_another_counter() {
    let asked = Asked {
        fields: vec![("x-a", "acme".to_owned()), ("x-b", "acme".to_owned())],
        ..Asked::default()
    };
    let by_a = keys(&counting_by("[header.x-a]", ""), &asked);
    assert_eq!(keys(&counting_by("[header.X-A]", ""), &asked), by_a);
    assert_ne!(keys(&counting_by("[header.x-b]", ""), &asked), by_a);
}
