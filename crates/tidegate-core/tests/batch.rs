//! Several charges of one request: all or nothing, whatever the algorithms.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, charge, costing, left, limits, shadow, table};
use tidegate_core::{HoldId, MAX_CHARGES, Outcome};

#[test]
fn one_refusal_spends_nothing_anywhere_and_the_others_tell_what_is_left_unspent() {
    for small in &limits(1) {
        for large in &limits(10) {
            let table = table();
            assert!(table.charge(&[charge(1, small), charge(2, large)], NOW).charged);

            let refused = table.charge(&[charge(2, large), charge(1, small), charge(3, large)], NOW);

            assert!(!refused.charged);
            assert_eq!(refused.each[0].outcome, Outcome::ALLOW);
            assert_eq!(refused.each[0].remaining, 9, "unspent");
            assert!(!refused.each[1].outcome.passes());
            assert_eq!(refused.each[2].remaining, 10, "unspent");
            assert_eq!(refused.each[2].reset_after, Duration::ZERO);
            assert_eq!([left(&table, 2, large), left(&table, 3, large)], [9, 10]);
        }
    }
}

#[test]
fn a_refused_shadow_charge_is_not_spent_and_stops_nobody() {
    for small in &limits(1) {
        for large in &limits(10) {
            let table = table();
            let shadowed = shadow(charge(1, small));
            assert!(table.charge(&[shadowed, charge(2, large)], NOW).charged);

            let passed = table.charge(&[shadowed, charge(2, large)], NOW);

            assert!(passed.charged);
            assert!(!passed.each[0].outcome.passes());
            assert_eq!(passed.each[1].remaining, 8);
            assert!(table.charge(&[shadowed], NOW).charged, "alone as well");
        }
    }
}

#[test]
fn a_shadow_charge_that_passes_is_not_spent_when_an_enforced_one_refuses() {
    for small in &limits(1) {
        for large in &limits(10) {
            let table = table();
            assert!(table.charge(&[charge(1, small)], NOW).charged);
            assert!(
                !table
                    .charge(&[shadow(charge(2, large)), charge(1, small)], NOW)
                    .charged
            );
            assert_eq!(left(&table, 2, large), 10);
        }
    }
}

#[test]
fn the_second_charge_on_a_key_sees_the_first() {
    for limit in &limits(3) {
        let table = table();

        let twice = table.charge(&[charge(1, limit), charge(1, limit)], NOW);
        assert!(twice.charged);
        assert_eq!([twice.each[0].remaining, twice.each[1].remaining], [2, 1]);

        let too_much = table.charge(&[charge(1, limit), charge(1, limit)], NOW);
        assert!(!too_much.charged);
        assert!(too_much.each[0].outcome.passes());
        assert!(!too_much.each[1].outcome.passes());
        assert_eq!([too_much.each[0].remaining, too_much.each[1].remaining], [1, 1]);
        assert_eq!(left(&table, 1, limit), 1);
    }
}

#[test]
fn a_charge_that_can_never_pass_is_told_so_in_a_batch_too() {
    for limit in &limits(3) {
        let decisions = table().charge(&[charge(1, limit), costing(4, charge(2, limit))], NOW);
        assert!(!decisions.charged);
        assert_eq!(decisions.each[1].outcome, Outcome::Never);
    }
}

#[test]
fn as_many_charges_as_a_request_may_carry_pass_whole_or_not_at_all() {
    let (table, limits) = (table(), limits(3));
    let keys = 0..u64::try_from(MAX_CHARGES).unwrap();
    let limit_of = |key: u64| &limits[usize::try_from(key).unwrap() % limits.len()];
    let all: Vec<_> = keys.clone().map(|key| charge(key, limit_of(key))).collect();
    assert!(table.charge(&all, NOW).charged);
    let last = keys.end - 1;
    assert!(
        table
            .charge(&[costing(2, charge(last, limit_of(last)))], NOW)
            .charged
    );

    let refused = table.charge(&all, NOW);

    assert!(!refused.charged);
    let passing = refused.each.iter().filter(|decision| decision.outcome.passes());
    assert_eq!(passing.count(), MAX_CHARGES - 1);
    for key in keys {
        let expected = if key == last { 0 } else { 2 };
        assert_eq!(left(&table, key, limit_of(key)), expected, "key {key}");
    }
}

#[test]
fn no_charges_are_charged() {
    let decisions = table().charge(&[], NOW);
    assert!(decisions.charged);
    assert!(decisions.each.is_empty());
}

#[test]
fn a_released_slot_is_free_again_and_a_second_release_frees_no_other() {
    let table = table();
    let [.., slots] = limits(2);
    let take = |hold| tidegate_core::Charge {
        hold: HoldId(hold),
        ..charge(1, &slots)
    };
    assert!(table.charge(&[take(1)], NOW).charged);
    assert!(table.charge(&[take(2)], NOW).charged);
    assert!(!table.charge(&[take(3)], NOW).charged);

    table.release(common::key(1), HoldId(1), NOW);
    table.release(common::key(1), HoldId(1), NOW);
    table.release(common::key(9), HoldId(2), NOW);

    assert!(table.charge(&[take(4)], NOW).charged);
    assert!(!table.charge(&[take(5)], NOW).charged);
}
