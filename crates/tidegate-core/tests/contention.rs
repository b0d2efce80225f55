//! Many threads, real ones: counts must be exact. Time stands still, so they can be.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::{NOW, charge, left, limits, table};
use tidegate_core::{Charge, HoldId};

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
    let table = tidegate_core::Table::new(tidegate_core::TableSize {
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
