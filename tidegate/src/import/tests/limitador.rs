//! Random limits under random calls.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use tidegate_policy::PolicyFile;

use super::limitador_model::{Condition, Limit, Model, Place, Windows};
use super::replay::{Asked, Call, Replay, hits};
use crate::import::limitador::import;

const KEYS: [&str; 3] = ["req.method", "user_id", "x y"];
const VALUES: [&str; 4] = ["", "x", "xy", "y"];
const NAMES: [&str; 2] = ["one", "an other \"one\""];
/// The lengths of windows, and one that all of them divide.
const SECONDS: [u64; 4] = [1, 2, 60, 90];
const COMMON_MS: u64 = 180_000;

fn place() -> impl Strategy<Value = Place> {
    (0..2usize, select(&KEYS[..]))
}

fn condition() -> impl Strategy<Value = Condition> {
    let value = || select(&VALUES[..]);
    let simple = prop_oneof![
        (place(), value()).prop_map(|(place, value)| Condition::Is(place, value)),
        (place(), value()).prop_map(|(place, value)| Condition::IsNot(place, value)),
        (place(), value()).prop_map(|(place, value)| Condition::BeginsWith(place, value)),
        Just(Condition::LimitIsNamed("one")),
    ];
    simple.prop_recursive(2, 4, 2, |one| {
        (one.clone(), one).prop_map(|(one, other)| Condition::Either(Box::new(one), Box::new(other)))
    })
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    let variables = prop::collection::vec(place(), 0..3);
    let conditions = prop::collection::vec(condition(), 0..3);
    let name = prop::option::of(select(&NAMES[..]));
    let limit = (name, 0..6u64, select(&SECONDS[..]), conditions, variables);
    let limit = limit.prop_map(|(name, max_value, seconds, conditions, variables)| Limit {
        name,
        max_value,
        seconds,
        conditions,
        variables,
    });
    prop::collection::vec(limit, 1..5).prop_map(without_twins)
}

/// Limits that Limitador can tell from each other.
fn without_twins(limits: Vec<Limit>) -> Vec<Limit> {
    let mut seen = HashSet::new();
    let mut limits = limits;
    limits.retain(|limit| {
        let mut conditions: Vec<String> = limit.conditions.iter().map(|one| format!("{one:?}")).collect();
        let mut variables = limit.variables.clone();
        conditions.sort();
        conditions.dedup();
        variables.sort_unstable();
        variables.dedup();
        seen.insert((limit.seconds, conditions, variables))
    });
    limits
}

fn asked() -> impl Strategy<Value = Asked> {
    let entry = (select(&KEYS[..]), select(&VALUES[..]));
    let entries = prop::collection::vec(entry, 0..4);
    entries.prop_map(|entries| Asked { entries, hits: None })
}

/// What calls say, and how long after the one before each comes.
fn calls(pause: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Call>> {
    let call = (pause, prop::collection::vec(asked(), 0..3), hits());
    prop::collection::vec(call, 1..60).prop_map(|calls| {
        let mut at_ms = 10_000_000 * COMMON_MS;
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

fn agree(limits: &[Limit], calls: &[Call], windows: Windows) -> Result<(), TestCaseError> {
    let text: Vec<_> = limits.iter().map(Limit::as_json).collect();
    let text = json!(text).to_string();
    let file = PolicyFile {
        name: "limits.yaml",
        text: &text,
    };
    let imported = import(&[file]);
    let made = imported
        .as_ref()
        .map(|imported| imported.text.clone())
        .unwrap_or_default();
    let mut replay = Replay::of(imported);
    let mut model = Model::of(limits, windows);
    for call in calls {
        prop_assert_eq!(replay.passes(call), model.passes(call), "{:?}\n{}", call, made);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn imported_limits_decide_as_limitador_does_but_for_where_windows_begin(
        limits in limits(),
        calls in calls(prop_oneof![6 => 0..400u64, 2 => 0..90_000u64]),
    ) {
        agree(&limits, &calls, Windows::Aligned)?;
    }

    // Calls come at one moment, and then none until every window is over: then it is the same where they begin.
    #[test]
    fn imported_limits_decide_as_limitador_does_where_bursts_are_apart(
        limits in limits(),
        calls in calls(prop_oneof![9 => Just(0), 1 => (1..4u64).prop_map(|times| times * COMMON_MS)]),
    ) {
        agree(&limits, &calls, Windows::FromFirst)?;
    }
}
