//! Several charges of one request: all or nothing.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use tidegate_core::{
    Charge, Cost, HoldId, KeyHasher, Limit, Mode, Outcome, Rate, Table, TableSize, Timestamp,
};

const NOW: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);

fn table() -> Table {
    Table::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 16,
    })
}

fn bucket(burst: u64) -> Limit {
    Limit::token_bucket(Rate::new(1, Duration::from_secs(1)).unwrap(), burst).unwrap()
}

fn charge(key: u64, limit: &Limit) -> Charge<'_> {
    Charge {
        key: KeyHasher::new([7; 16]).key(&key.to_le_bytes()),
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(0),
    }
}

fn left(table: &Table, key: u64, limit: &Limit) -> u64 {
    let look = Charge {
        cost: Cost::LOOK,
        ..charge(key, limit)
    };
    table.charge(&[look], NOW).each[0].remaining
}

#[test]
fn one_refusal_spends_nothing_anywhere_and_the_others_tell_what_is_left_unspent() {
    let (table, small, large) = (table(), bucket(1), bucket(10));
    assert!(table.charge(&[charge(1, &small), charge(2, &large)], NOW).charged);

    let refused = table.charge(&[charge(2, &large), charge(1, &small), charge(3, &large)], NOW);

    assert!(!refused.charged);
    assert_eq!(refused.each[0].outcome, Outcome::ALLOW);
    assert_eq!(refused.each[0].remaining, 9, "unspent");
    assert!(!refused.each[1].outcome.passes());
    assert_eq!(refused.each[2].remaining, 10, "unspent");
    assert_eq!(refused.each[2].reset_after, Duration::ZERO);
    assert_eq!([left(&table, 2, &large), left(&table, 3, &large)], [9, 10]);
}

#[test]
fn a_refused_shadow_charge_is_not_spent_and_stops_nobody() {
    let (table, small, large) = (table(), bucket(1), bucket(10));
    let shadow = Charge {
        mode: Mode::Shadow,
        ..charge(1, &small)
    };
    assert!(table.charge(&[shadow, charge(2, &large)], NOW).charged);

    let passed = table.charge(&[shadow, charge(2, &large)], NOW);

    assert!(passed.charged);
    assert!(!passed.each[0].outcome.passes());
    assert_eq!(passed.each[1].remaining, 8);
    assert!(table.charge(&[shadow], NOW).charged, "alone as well");
}

#[test]
fn the_second_charge_on_a_key_sees_the_first() {
    let (table, limit) = (table(), bucket(3));

    let twice = table.charge(&[charge(1, &limit), charge(1, &limit)], NOW);
    assert!(twice.charged);
    assert_eq!([twice.each[0].remaining, twice.each[1].remaining], [2, 1]);

    let too_much = table.charge(&[charge(1, &limit), charge(1, &limit)], NOW);
    assert!(!too_much.charged);
    assert!(too_much.each[0].outcome.passes());
    assert!(!too_much.each[1].outcome.passes());
    assert_eq!([too_much.each[0].remaining, too_much.each[1].remaining], [1, 1]);
    assert_eq!(left(&table, 1, &limit), 1);
}

#[test]
fn no_charges_are_charged() {
    let decisions = table().charge(&[], NOW);
    assert!(decisions.charged);
    assert!(decisions.each.is_empty());
}
