//! What is given back was never spent, and nothing is given back twice.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, charge, costing, left, limits, limits_per, shadow, table};
use proptest::prelude::*;
use tidegate_core::{Charge, Cost, Decisions, HoldId, Limit, Rate, Table, Timestamp};

/// Limits of each algorithm, and buckets whose rates do not divide their windows.
fn all_limits() -> Vec<Limit> {
    let window = Duration::from_nanos(1_000);
    let rate = |quota| Rate::new(quota, window).unwrap();
    let mut all = limits_per(window, 10).to_vec();
    all.push(Limit::token_bucket(rate(7), 5).unwrap());
    all.push(Limit::token_bucket(rate(3), 20).unwrap());
    all.push(Limit::leaky_bucket(rate(7), 2, window).unwrap());
    all
}

/// One unit or more of `limit`, held by `hold`.
fn ask(limit: &Limit, units: u64, hold: u64) -> Charge<'_> {
    Charge {
        cost: Cost::new(units),
        hold: HoldId(hold),
        ..charge(1, limit)
    }
}

fn after(nanos: u64) -> Timestamp {
    NOW.saturating_add(Duration::from_nanos(nanos))
}

/// Waits and costs of requests that follow each other.
fn requests(most: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..400_u64, 1..4_u64), 0..most)
}

proptest! {
    #[test]
    fn a_charge_that_is_given_back_is_as_if_it_had_never_been(
        before in requests(12),
        (wait, units) in (0..400_u64, 1..6_u64),
        later in requests(12),
    ) {
        for limit in &all_limits() {
            let (charged, never) = (table(), table());
            let mut at = 0;
            for (hold, (wait, units)) in before.iter().enumerate() {
                at += wait;
                let ask = [ask(limit, *units, hold as u64)];
                prop_assert_eq!(charged.charge(&ask, after(at)), never.charge(&ask, after(at)));
            }
            let granted_at = after(at + wait);
            let given = [ask(limit, units, 1_000)];
            let decisions = charged.charge(&given, granted_at);
            at += wait;
            charged.give_back(&given, &decisions, granted_at, after(at));
            for (hold, (wait, units)) in [(0, 0)].iter().chain(&later).enumerate() {
                at += wait;
                let ask = [ask(limit, *units, 2_000 + hold as u64)];
                let answers = [&charged, &never].map(|table| table.charge(&ask, after(at)));
                prop_assert_eq!(&answers[0], &answers[1], "{:?}", limit);
            }
        }
    }

    #[test]
    fn whatever_happens_meanwhile_no_more_is_admitted_than_without_what_is_given_back(
        requests in prop::collection::vec((0..300_u64, 1..4_u64, prop::option::of(0..1_500_u64)), 1..40),
    ) {
        for limit in &all_limits() {
            let (table, without) = (table(), table());
            let mut owed: Vec<(u64, Charge<'_>, Decisions, Timestamp)> = Vec::new();
            let mut at = 0;
            for (hold, (wait, units, given_back_after)) in requests.iter().enumerate() {
                at += wait;
                owed.sort_by_key(|(due, ..)| *due);
                let due = owed.partition_point(|(due, ..)| *due <= at);
                for (due, charge, decisions, granted_at) in owed.drain(..due) {
                    table.give_back(&[charge], &decisions, granted_at, after(due));
                }
                let ask = ask(limit, *units, hold as u64);
                let decisions = table.charge(&[ask], after(at));
                match given_back_after {
                    Some(wait) => owed.push((at + wait, ask, decisions, after(at))),
                    None if decisions.charged => {
                        let alone = without.charge(&[ask], after(at));
                        prop_assert!(alone.charged, "{:?} at {}: {:?}", limit, at, alone);
                    }
                    None => {}
                }
            }
        }
    }
}

#[test]
fn a_refused_batch_has_nothing_to_give_back() {
    for limit in &limits(3) {
        let table = table();
        assert!(table.charge(&[costing(3, charge(1, limit))], NOW).charged);
        let batch = [charge(2, limit), charge(1, limit)];
        let refused = table.charge(&batch, NOW);
        table.give_back(&batch, &refused, NOW, NOW);
        assert_eq!(left(&table, 1, limit), 0);
    }
}

#[test]
fn a_shadow_charge_that_was_refused_has_nothing_to_give_back() {
    for limit in &limits(3) {
        let table = table();
        assert!(table.charge(&[costing(2, charge(1, limit))], NOW).charged);
        let batch = [shadow(costing(2, charge(1, limit))), charge(2, limit)];
        let passed = table.charge(&batch, NOW);
        assert!(passed.charged);
        table.give_back(&batch, &passed, NOW, NOW);
        assert_eq!([left(&table, 1, limit), left(&table, 2, limit)], [1, 3]);
    }
}

#[test]
fn two_charges_on_one_key_are_both_given_back() {
    for limit in &limits(5) {
        let table = table();
        let batch = [charge(1, limit), costing(2, charge(1, limit))];
        let passed = table.charge(&batch, NOW);
        table.give_back(&batch, &passed, NOW, NOW);
        assert_eq!(left(&table, 1, limit), 5);
    }
}

#[test]
fn others_keep_what_they_spent_at_the_same_moment() {
    for limit in &limits(5) {
        let table = table();
        let mine = [ask(limit, 2, 1)];
        let passed = table.charge(&mine, NOW);
        assert!(table.charge(&[ask(limit, 1, 2)], NOW).charged);
        table.give_back(&mine, &passed, NOW, NOW);
        assert_eq!(left(&table, 1, limit), 4);
    }
}

#[test]
fn a_key_that_is_not_there_gets_nothing() {
    for limit in &limits(5) {
        let (charged, other): (Table, Table) = (table(), table());
        let mine = [charge(1, limit)];
        let passed = charged.charge(&mine, NOW);
        other.give_back(&mine, &passed, NOW, NOW);
        assert_eq!(left(&other, 1, limit), 5);
    }
}
