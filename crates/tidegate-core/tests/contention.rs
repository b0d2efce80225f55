//! Many threads, real ones: counts must be exact. Time stands still, so they can be.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::{NOW, charge, left, limits, limits_per, table};
use tidegate_core::{Charge, HoldId, Table, TableSize};

/// Runs `work` in `threads` threads, each told its number.
fn in_threads(threads: u64, work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

#[test]
fn any_number_of_threads_on_one_key_admit_exactly_the_limit() {
    const LIMIT: u64 = 3_000;
    for threads in [2, 3, 4, 8, 16] {
        for limit in &limits(LIMIT) {
            let (table, admitted) = (table(), AtomicU64::new(0));
            in_threads(threads, |number| {
                for step in 0..2 * LIMIT / threads {
                    let charge = Charge {
                        hold: HoldId(number << 32 | step),
                        ..charge(1, limit)
                    };
                    if table.charge(&[charge], NOW).charged {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            assert_eq!(
                admitted.into_inner(),
                LIMIT,
                "{} by {threads} threads",
                limit.algorithm().name()
            );
        }
    }
}

#[test]
fn batches_over_several_keys_spend_each_key_as_often_as_they_pass() {
    const LIMIT: u64 = 500;
    const KEYS: u64 = 6;
    for threads in [2, 4, 16] {
        let (table, limits) = (table(), limits(LIMIT));
        let limit_of = |key: u64| &limits[usize::try_from(key).unwrap() % limits.len()];
        let passed: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        in_threads(threads, |number| {
            for step in 0..4_000 / threads {
                // Three of the keys, in ever other order.
                let first = (number + step) % KEYS;
                let keys = [first, (first + 1 + step % 2) % KEYS, (first + 4) % KEYS];
                let charges = keys.map(|key| Charge {
                    hold: HoldId(number << 32 | step),
                    ..charge(key, limit_of(key))
                });
                if table.charge(&charges, NOW).charged {
                    for key in keys {
                        passed[usize::try_from(key).unwrap()].fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        for (key, passed) in (0..KEYS).zip(passed) {
            let spent = LIMIT - left(&table, key, limit_of(key));
            assert_eq!(passed.into_inner(), spent, "key {key} by {threads} threads");
        }
        assert!(
            (0..KEYS).any(|key| left(&table, key, limit_of(key)) == 0),
            "the limits were reached"
        );
    }
}

#[test]
fn threads_that_bring_new_keys_to_a_full_table_never_admit_a_limited_one() {
    let table = Table::new(TableSize {
        bucket_bytes: 4096,
        ledger_bytes: 0,
    });
    let [one, ..] = limits(1);
    let [patient, ..] = limits(100);
    let limited = 0..16;
    for key in limited.clone() {
        assert!(table.charge(&[charge(key, &one)], NOW).charged);
    }
    in_threads(4, |number| {
        for step in 0..20_000 {
            table.charge(&[charge(1_000_000 * (number + 1) + step, &patient)], NOW);
            let key = step % limited.end;
            assert!(
                !table.charge(&[charge(key, &one)], NOW).charged,
                "key {key} was freed"
            );
        }
    });
    assert!(table.usage().bucket_evictions > 0, "the table was full");
}

#[test]
fn buckets_that_move_to_make_room_while_others_charge_them_are_neither_lost_nor_doubled() {
    // Two thirds of 256 places: one newcomer in thirty finds its two lines full, and another bucket moves for it.
    const KEYS: u64 = 170;
    const LIMIT: u64 = 5;
    let [limit, ..] = limits(LIMIT);
    let mut whole = 0;
    for round in 0..200 {
        let table = Table::new(TableSize {
            bucket_bytes: 4096,
            ledger_bytes: 0,
        });
        let admitted: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        in_threads(4, |number| {
            for step in 0..3 * KEYS {
                let key = (step + number * 40) % KEYS;
                let charge = charge(round * 1_000 + key, &limit);
                if table.charge(&[charge], NOW).charged {
                    admitted[usize::try_from(key).unwrap()].fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        if table.usage().bucket_evictions == 0 {
            whole += 1;
            assert_eq!(table.live_buckets(NOW) as u64, KEYS);
            assert!(
                admitted
                    .into_iter()
                    .all(|admitted| admitted.into_inner() == LIMIT)
            );
        }
    }
    assert!(whole > 150, "only {whole} rounds without an eviction");
}

#[test]
fn threads_on_a_running_clock_admit_no_more_than_one_window_above_the_rate() {
    const LIMIT: u64 = 10;
    const WINDOWS: u64 = 20;
    const ASKS: u64 = 20_000;
    // Four seconds in all: a thread that is stopped between clock and charge is late by less than any skew that is allowed.
    const WINDOW: Duration = Duration::from_millis(200);
    let tick = u64::from(WINDOW.subsec_nanos()) * WINDOWS / ASKS;
    for threads in [2, 4, 16] {
        for limit in &limits_per(WINDOW, LIMIT) {
            let (table, admitted, clock) = (table(), AtomicU64::new(0), AtomicU64::new(0));
            in_threads(threads, |number| {
                for step in 0..ASKS / threads {
                    let after = clock.fetch_add(tick, Ordering::Relaxed);
                    let charge = Charge {
                        hold: HoldId(number << 32 | step),
                        ..charge(1, limit)
                    };
                    let now = NOW.saturating_add(Duration::from_nanos(after));
                    admitted.fetch_add(u64::from(table.charge(&[charge], now).charged), Ordering::Relaxed);
                }
            });
            let (admitted, name) = (admitted.into_inner(), limit.algorithm().name());
            assert!(
                admitted <= LIMIT * (WINDOWS + 1),
                "{admitted} of {name} by {threads} threads"
            );
            // A sliding window gives one less than its quota to a client that asks evenly.
            assert!(
                admitted >= (LIMIT - 1) * WINDOWS,
                "{admitted} of {name} by {threads} threads"
            );
        }
    }
}
