//! Random trees of descriptors under random calls.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use tidegate_policy::PolicyFile;

use super::envoy_model::{Limit, Model, Node, Unit, as_json};
use super::replay::{Asked, Call, Replay, hits};
use crate::import::envoy::{Domains, import};

const KEYS: [&str; 3] = ["a", "b", "user-id"];
const VALUES: [&str; 9] = ["x", "y", "xy", "x y: #", "x*", "*y", "x*y", "*", "*x*"];
const NAMES: [&str; 3] = ["one", "two", "three"];
const UNITS: [Unit; 7] = [
    ("second", 1000),
    ("Minute", 60_000),
    ("HOUR", 3_600_000),
    ("day", 86_400_000),
    ("week", 7 * 86_400_000),
    ("month", 30 * 86_400_000),
    ("year", 365 * 86_400_000),
];

fn limit() -> impl Strategy<Value = Limit> {
    let rule = prop_oneof![1 => Just(None), 6 => (0..5u64, select(&UNITS[..])).prop_map(Some)];
    let name = prop::option::of(select(&NAMES[..]));
    let replaces = prop::collection::vec(select(&NAMES[..]), 0..2);
    (rule, name, replaces).prop_map(|(rule, name, replaces)| {
        let others = replaces.into_iter().filter(|replaced| Some(*replaced) != name);
        let replaces = others.collect();
        Limit { rule, name, replaces }
    })
}

/// A descriptor without what stands below it.
fn leaf() -> impl Strategy<Value = Node> {
    let value = prop_oneof![1 => Just(None), 3 => select(&VALUES[..]).prop_map(Some)];
    let limit = prop_oneof![1 => Just(None), 3 => limit().prop_map(Some)];
    (select(&KEYS[..]), value, limit, any::<bool>(), any::<bool>()).prop_map(
        |(key, value, limit, odd, shares)| Node {
            key,
            value,
            limit,
            is_shadow: odd && shares,
            shares: shares && value.is_some_and(|value| value.contains('*')),
            nodes: Vec::new(),
        },
    )
}

fn tree() -> impl Strategy<Value = Vec<Node>> {
    let node = leaf().prop_recursive(3, 24, 5, |below| {
        (leaf(), prop::collection::vec(below, 0..5)).prop_map(|(node, nodes)| Node {
            nodes: without_twins(nodes),
            ..node
        })
    });
    prop::collection::vec(node, 1..7).prop_map(without_twins)
}

fn without_twins(nodes: Vec<Node>) -> Vec<Node> {
    let mut seen = HashSet::new();
    nodes
        .into_iter()
        .filter(|node| seen.insert((node.key, node.value)))
        .collect()
}

fn asked() -> impl Strategy<Value = Asked> {
    let values = ["x", "y", "xy", "xxy", "yx", "", "x y: #"];
    let entry = (select(&KEYS[..]), select(values.to_vec()));
    (prop::collection::vec(entry, 1..4), hits()).prop_map(|(entries, hits)| Asked { entries, hits })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let pause = prop_oneof![6 => 0..400u64, 2 => 0..60_000u64, 1 => 0..400 * 86_400_000u64];
    let call = (pause, prop::collection::vec(asked(), 1..4), hits());
    prop::collection::vec(call, 1..60).prop_map(|calls| {
        let mut at_ms = 1_795_780_800_000;
        let call = |(pause, descriptors, hits)| {
            at_ms += pause;
            Call {
                at_ms,
                domain: "shop",
                descriptors,
                hits,
            }
        };
        calls.into_iter().map(call).collect()
    })
}

/// A limit of one, asked twice in the last moment of a window and then in the first of the next.
#[test]
fn windows_of_every_unit_end_when_ratelimits_do() {
    for unit in UNITS {
        let limit = Limit {
            rule: Some((1, unit)),
            name: None,
            replaces: Vec::new(),
        };
        let nodes = [Node {
            key: "a",
            value: None,
            limit: Some(limit),
            is_shadow: false,
            shares: false,
            nodes: Vec::new(),
        }];
        let text = json!({ "domain": "shop", "descriptors": as_json(&nodes) }).to_string();
        let file = PolicyFile {
            name: "shop.yaml",
            text: &text,
        };
        let mut replay = Replay::of(import(&[file], Domains::Once));
        let call = |at_ms| Call {
            at_ms,
            domain: "shop",
            descriptors: vec![Asked {
                entries: vec![("a", "x")],
                hits: None,
            }],
            hits: None,
        };
        let next = 60 * unit.1;
        let passed = [next - 1, next - 1, next].map(|at_ms| replay.passes(&call(at_ms)));
        assert_eq!(passed, [true, false, true], "{unit:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn imported_descriptors_decide_as_ratelimit_does(nodes in tree(), calls in calls()) {
        let text = json!({ "domain": "shop", "descriptors": as_json(&nodes) }).to_string();
        let file = PolicyFile { name: "shop.yaml", text: &text };
        let imported = import(&[file], Domains::Once);
        let made = imported.as_ref().map(|imported| imported.text.clone()).unwrap_or_default();
        let mut replay = Replay::of(imported);
        let mut model = Model::of(&nodes);
        for call in &calls {
            prop_assert_eq!(replay.passes(call), model.passes(call), "{:?}\n{}", call, made);
        }
    }
}
