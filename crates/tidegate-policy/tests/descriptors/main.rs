//! Calls of the rate limit service: which policies speak about them, and which counters they name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "only tests")]

mod bounds;
mod charges;
#[path = "../common/mod.rs"]
mod common;
mod model;

use common::set;
use tidegate_core::{HoldId, Key, Timestamp};
use tidegate_policy::{Descriptor, DescriptorCall, DescriptorPlan, Entry, PolicySet};

/// A limit that every policy may have.
const LIMIT: &str = "limit: { algorithm: fixed_window, quota: 10, window: 1m }";

fn now() -> Timestamp {
    Timestamp::from_nanos(1_800_000_000_000_000_000)
}

/// A descriptor of these keys and values.
fn descriptor<'t>(entries: &[(&'t str, &'t str)]) -> Descriptor<'t> {
    let entries = entries.iter().map(|(key, value)| Entry { key, value });
    Descriptor {
        entries: entries.collect(),
        hits: None,
        limit: None,
    }
}

/// The plan of a call to the domain `shop`.
fn plan<'c, 't: 'c>(set: &'c PolicySet, descriptors: &'c [Descriptor<'t>]) -> DescriptorPlan<'c> {
    let call = DescriptorCall {
        domain: "shop",
        descriptors,
        hits: None,
    };
    set.plan_descriptors(&call, HoldId(1), now())
}

/// The names of the policies that charge, each with the place of its descriptor.
fn charges(planned: &DescriptorPlan<'_>) -> Vec<(String, Option<u32>)> {
    let sources = planned.plan.sources.iter().zip(&planned.places);
    sources
        .map(|(source, place)| (source.policy.name.to_string(), *place))
        .collect()
}

fn charged(set: &PolicySet, entries: &[(&str, &str)]) -> Vec<String> {
    let descriptors = [descriptor(entries)];
    let planned = plan(set, &descriptors);
    charges(&planned).into_iter().map(|(name, _)| name).collect()
}

fn keys(planned: &DescriptorPlan<'_>) -> Vec<Key> {
    planned.plan.charges.iter().map(|charge| charge.key).collect()
}

/// The counters of a call with one descriptor.
fn counters(set: &PolicySet, entries: &[(&str, &str)]) -> Vec<Key> {
    let descriptors = [descriptor(entries)];
    keys(&plan(set, &descriptors))
}

#[test]
fn an_exact_value_comes_before_patterns_these_before_the_bare_key_and_no_way_is_taken_back() {
    let set = set(&format!(
        "
policies:
  - {{ name: bare, match: {{ domain: shop, descriptor: [user] }}, {LIMIT} }}
  - {{ name: first, match: {{ domain: shop, descriptor: [user: 'a*'] }}, {LIMIT} }}
  - {{ name: second, match: {{ domain: shop, descriptor: [user: '*b*'] }}, {LIMIT} }}
  - {{ name: exact, match: {{ domain: shop, descriptor: [user: ab] }}, {LIMIT} }}
  - {{ name: again, match: {{ domain: shop, descriptor: {{ user: ab }} }}, {LIMIT} }}
  - {{ name: deep, match: {{ domain: shop, descriptor: [user: x, path] }}, {LIMIT} }}
"
    ));
    for (value, names) in [
        ("ab", &["exact", "again"][..]),
        ("abc", &["first"]),
        ("cb", &["second"]),
        ("c", &["bare"]),
        // There is a way on to `deep`, so this one does not lead to `bare`.
        ("x", &[]),
    ] {
        assert_eq!(charged(&set, &[("user", value)]), names, "{value}");
    }
    assert_eq!(charged(&set, &[("user", "x"), ("path", "/")]), ["deep"]);
    assert!(charged(&set, &[("user", "y"), ("path", "/")]).is_empty());
    assert!(charged(&set, &[("user", "ab"), ("path", "/")]).is_empty());
    assert!(charged(&set, &[("path", "/")]).is_empty());
    assert!(charged(&set, &[]).is_empty());
    assert!(set.knows_domain("shop") && !set.knows_domain("sho"));
}

#[test]
fn a_value_that_reads_like_a_pattern_is_that_patterns() {
    let set = set(&format!(
        "
policies:
  - {{ name: any, match: {{ domain: shop, descriptor: [user: '*'] }}, {LIMIT} }}
  - {{ name: some, match: {{ domain: shop, descriptor: [user: 'a*'] }}, {LIMIT} }}
"
    ));
    assert_eq!(charged(&set, &[("user", "ab")]), ["any"]);
    assert_eq!(charged(&set, &[("user", "")]), ["any"]);
    assert_eq!(charged(&set, &[("user", "a*")]), ["some"]);
}

#[test]
fn different_descriptors_never_share_a_counter() {
    let set = set(&format!(
        "policies: [{{ name: a, match: {{ domain: shop, descriptor: [x, y] }}, {LIMIT} }}]"
    ));
    let pairs = [
        ("ab", "c"),
        ("a", "bc"),
        ("", "abc"),
        ("abc", ""),
        ("b", "a"),
        ("a", "b"),
    ];
    let mut all: Vec<Key> = pairs
        .iter()
        .flat_map(|(x, y)| counters(&set, &[("x", x), ("y", y)]))
        .collect();
    assert_eq!(all.len(), pairs.len());
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), pairs.len());
    assert_eq!(
        counters(&set, &[("x", "1"), ("y", "2")]),
        counters(&set, &[("x", "1"), ("y", "2")])
    );
}
