//! Every order in which two threads can meet in the table, up to three preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p tidegate-core --release --test loom`
//!
//! Under loom the smallest table is four lines of four buckets: a test can fill the two of a key, and move a bucket to a third.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, costing};
use loom::sync::Arc;
use loom::thread;
use tidegate_core::{Charge, Cost, HoldId, Key, Limit, Mode, Rate, Table, TableSize};

/// The home of a key: line 0 or 1. Its other line is the other of these, unless it is [`mover`].
#[derive(Clone, Copy)]
enum Home {
    Low,
    High,
}

fn key(home: Home, number: u64) -> Key {
    let half = match home {
        Home::Low => 0,
        Home::High => 1 << 126,
    };
    Key::from_hash(half | u128::from(number) << 3)
}

/// A key of line 0 whose other line is 2.
fn mover() -> Key {
    Key::from_hash(1 << 63 | 9 << 3)
}

fn limit(burst: u64) -> Limit {
    Limit::token_bucket(Rate::new(burst, Duration::from_secs(3600)).unwrap(), burst).unwrap()
}

fn window(quota: u64) -> Limit {
    Limit::fixed_window(Rate::new(quota, Duration::from_secs(3600)).unwrap())
}

fn charge(key: Key, limit: &Limit) -> Charge<'_> {
    Charge {
        key,
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(0),
    }
}

fn table() -> Table {
    Table::new(TableSize {
        bucket_bytes: 0,
        ledger_bytes: 0,
    })
}

/// A table whose eight buckets are taken by keys that have spent little.
fn full_table() -> Table {
    let (table, patient) = (table(), limit(100));
    for number in 1..=8 {
        assert!(
            table
                .charge(&[charge(key(Home::Low, number), &patient)], NOW)
                .charged
        );
    }
    assert_eq!(table.live_buckets(NOW), 8);
    table
}

/// A table whose lines 0 and 1 are full, where [`mover`] in line 0 has spent one of two.
fn full_lines_with_a_mover() -> Table {
    let (table, patient) = (table(), limit(100));
    assert!(passes(&table, &[charge(mover(), &limit(2))]));
    for number in 1..=7 {
        assert!(passes(&table, &[charge(key(Home::Low, number), &patient)]));
    }
    table
}

fn passes(table: &Table, charges: &[Charge<'_>]) -> bool {
    table.charge(charges, NOW).charged
}

/// Takes the one token of both keys, in this order.
fn both_pass(table: &Table, first: Key, second: Key) -> bool {
    let one = limit(1);
    passes(table, &[charge(first, &one), charge(second, &one)])
}

/// Runs `first` and `second` on one table in every order.
fn explore(
    table: impl Fn() -> Table + Send + Sync + 'static,
    first: fn(&Table) -> bool,
    second: fn(&Table) -> bool,
    then: fn(&Table, [bool; 2]),
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    model.check(move || {
        let table = Arc::new(table());
        let other = Arc::clone(&table);
        let handle = thread::spawn(move || first(&other));
        let second = second(&table);
        let first = handle.join().unwrap();
        then(&table, [first, second]);
    });
}

#[test]
fn two_threads_on_one_absent_key_get_its_one_token_once() {
    let take = |table: &Table| passes(table, &[charge(key(Home::Low, 1), &limit(1))]);
    explore(table, take, take, |_, passed| assert_ne!(passed[0], passed[1]));
}

#[test]
fn two_threads_on_one_absent_key_whose_other_line_is_below_get_its_one_token_once() {
    let take = |table: &Table| passes(table, &[charge(key(Home::High, 1), &limit(1))]);
    explore(table, take, take, |_, passed| assert_ne!(passed[0], passed[1]));
}

#[test]
fn two_threads_on_one_present_key_get_its_last_token_once() {
    let spent_one = || {
        let table = table();
        assert!(passes(&table, &[charge(key(Home::Low, 1), &limit(2))]));
        table
    };
    let take = |table: &Table| passes(table, &[charge(key(Home::Low, 1), &limit(2))]);
    explore(spent_one, take, take, |_, passed| {
        assert_ne!(passed[0], passed[1])
    });
}

#[test]
fn two_keys_that_fight_for_a_full_set_are_both_remembered() {
    explore(
        full_table,
        |table| passes(table, &[charge(key(Home::Low, 11), &limit(1))]),
        |table| passes(table, &[charge(key(Home::High, 12), &limit(1))]),
        |table, passed| {
            assert_eq!(passed, [true, true]);
            assert_eq!(table.usage().bucket_evictions, 2);
            assert!(!passes(table, &[charge(key(Home::Low, 11), &limit(1))]));
            assert!(!passes(table, &[charge(key(Home::High, 12), &limit(1))]));
        },
    );
}

#[test]
fn two_batches_that_share_two_keys_in_opposite_order_pass_once_and_whole() {
    explore(
        table,
        |table| both_pass(table, key(Home::Low, 1), key(Home::High, 2)),
        |table| both_pass(table, key(Home::High, 2), key(Home::Low, 1)),
        |table, passed| {
            assert_ne!(passed[0], passed[1]);
            assert_eq!(table.live_buckets(NOW), 2);
        },
    );
}

#[test]
fn a_batch_and_a_single_charge_on_its_second_key_never_half_spend() {
    explore(
        table,
        |table| both_pass(table, key(Home::High, 1), key(Home::Low, 2)),
        |table| passes(table, &[charge(key(Home::Low, 2), &limit(1))]),
        |table, [batch, single]| {
            assert_ne!(batch, single);
            let first_left = table
                .charge(&[costing(0, charge(key(Home::High, 1), &limit(1)))], NOW)
                .each[0]
                .remaining;
            assert_eq!(
                first_left,
                u64::from(single),
                "the first key is spent with the second"
            );
        },
    );
}

#[test]
fn two_batches_over_buckets_and_windows_pass_once_and_whole() {
    explore(
        table,
        |table| {
            let (one, window) = (limit(1), window(1));
            passes(
                table,
                &[
                    charge(key(Home::Low, 1), &one),
                    charge(key(Home::Low, 2), &window),
                ],
            )
        },
        |table| {
            let (one, window) = (limit(1), window(1));
            passes(
                table,
                &[
                    charge(key(Home::Low, 2), &window),
                    charge(key(Home::Low, 1), &one),
                ],
            )
        },
        |table, passed| {
            assert_ne!(passed[0], passed[1]);
            assert_eq!(table.live_buckets(NOW), 1);
            assert_eq!(table.usage().ledger_entries, 1);
        },
    );
}

#[test]
fn a_limited_key_stays_limited_while_another_thread_evicts_beside_it() {
    let with_a_limited_key = || {
        let table = full_table();
        assert!(passes(&table, &[charge(key(Home::Low, 20), &limit(1))]));
        table
    };
    explore(
        with_a_limited_key,
        |table| passes(table, &[charge(key(Home::Low, 20), &limit(1))]),
        |table| passes(table, &[charge(key(Home::High, 21), &limit(100))]),
        |table, [limited, newcomer]| {
            assert!(!limited);
            assert!(newcomer);
            assert!(!passes(table, &[charge(key(Home::Low, 20), &limit(1))]));
        },
    );
}

#[test]
fn a_bucket_that_moves_to_make_room_while_another_thread_charges_it_keeps_what_was_spent() {
    explore(
        full_lines_with_a_mover,
        |table| passes(table, &[charge(mover(), &limit(2))]),
        |table| passes(table, &[charge(key(Home::Low, 11), &limit(1))]),
        |table, passed| {
            assert_eq!(passed, [true, true]);
            assert_eq!(table.usage().bucket_evictions, 0, "it moved");
            assert_eq!(table.live_buckets(NOW), 9);
            assert!(!passes(table, &[charge(mover(), &limit(2))]));
            assert!(!passes(table, &[charge(key(Home::Low, 11), &limit(1))]));
        },
    );
}

#[test]
fn a_batch_whose_newcomer_moves_another_bucket_of_the_batch_passes_whole_or_not_at_all() {
    explore(
        full_lines_with_a_mover,
        |table| {
            let (two, one) = (limit(2), limit(1));
            passes(table, &[charge(mover(), &two), charge(key(Home::High, 11), &one)])
        },
        |table| passes(table, &[charge(mover(), &limit(2))]),
        |table, [batch, single]| {
            assert_ne!(batch, single, "one unit was left");
            assert_eq!(table.usage().bucket_evictions, 0);
            assert_eq!(table.live_buckets(NOW), if batch { 9 } else { 8 });
            assert!(!passes(table, &[charge(mover(), &limit(2))]));
        },
    );
}

#[test]
fn a_key_that_comes_home_while_its_lines_are_locked_in_order_is_found_there() {
    explore(
        table,
        |table| both_pass(table, key(Home::Low, 2), key(Home::High, 1)),
        |table| passes(table, &[charge(key(Home::High, 1), &limit(1))]),
        |table, [batch, single]| {
            assert_ne!(batch, single);
            assert_eq!(table.live_buckets(NOW), if batch { 2 } else { 1 });
        },
    );
}

#[test]
fn a_batch_that_needs_a_lower_line_does_not_wait_for_it_while_it_holds_a_higher_one() {
    explore(
        table,
        |table| both_pass(table, key(Home::High, 1), key(Home::High, 2)),
        |table| passes(table, &[charge(key(Home::Low, 3), &limit(1))]),
        |table, passed| {
            assert_eq!(passed, [true, true]);
            assert_eq!(table.live_buckets(NOW), 3);
        },
    );
}
