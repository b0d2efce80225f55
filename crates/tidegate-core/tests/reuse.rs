//! No sweeper: what is fresh again makes room.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, charge, left, limits};
use tidegate_core::{Limit, Rate, Table, TableSize};

#[test]
fn counters_that_are_fresh_again_make_room_before_any_other_goes() {
    for limit in &limits(10) {
        let table = Table::new(TableSize {
            bucket_bytes: 0,
            ledger_bytes: 0,
        });
        // Far more keys than fit, but only a hundred at a time that are not fresh: those of the last hour.
        for number in 0..30_000u32 {
            let now = NOW.saturating_add(Duration::from_secs(36) * number);
            assert!(table.charge(&[charge(u64::from(number), limit)], now).charged);
        }
        let usage = table.usage();
        assert_eq!(
            usage.bucket_evictions + usage.ledger_evictions,
            0,
            "{}",
            limit.algorithm().name()
        );
        assert!(usage.ledger_entries < 300, "{} kept", usage.ledger_entries);
    }
}

#[test]
fn a_log_that_doubles_its_memory_puts_out_what_is_fresh_and_nothing_else() {
    let log = |quota, seconds| {
        Limit::sliding_window_log(Rate::new(quota, Duration::from_secs(seconds)).unwrap()).unwrap()
    };
    let (short, patient, long) = (log(8, 1), log(100, 3600), log(10_000, 3600));
    let table = Table::new(TableSize {
        bucket_bytes: 0,
        ledger_bytes: TableSize::MIN_LEDGER_BYTES,
    });
    let spend = |key, limit, after| {
        let now = NOW.saturating_add(after);
        assert!(table.charge(&[charge(key, limit)], now).charged);
    };
    // Its next spending takes another 64 KiB.
    (0..4096).for_each(|nanos| spend(0, &long, Duration::from_nanos(nanos)));
    // Most of the rest of the budget, limited for a second, fresh six seconds later.
    for key in 2..3402 {
        (0..8).for_each(|nanos| spend(key, &short, Duration::from_nanos(5000 + nanos)));
    }
    spend(1, &patient, Duration::from_secs(9));

    spend(0, &long, Duration::from_secs(10));

    assert_eq!(table.usage().ledger_evictions, 0);
    assert_eq!(left(&table, 1, &patient), 99, "it is not fresh for an hour");
}
