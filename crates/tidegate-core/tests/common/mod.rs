//! What the tests of the table share.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a test; each binary uses a part of it"
)]

use std::time::Duration;

use tidegate_core::{Charge, Cost, HoldId, Key, KeyHasher, Limit, Mode, Rate, Table, TableSize, Timestamp};

pub(crate) const NOW: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);

pub(crate) fn table() -> Table {
    Table::new(TableSize {
        bucket_bytes: 1 << 20,
        ledger_bytes: 1 << 20,
    })
}

/// A limit of each algorithm that admits `capacity` at once and then nothing for a while.
pub(crate) fn limits(capacity: u64) -> [Limit; 6] {
    limits_per(Duration::from_secs(3600), capacity)
}

pub(crate) fn limits_per(window: Duration, capacity: u64) -> [Limit; 6] {
    let rate = Rate::new(capacity, window).unwrap();
    [
        Limit::token_bucket(rate, capacity).unwrap(),
        Limit::leaky_bucket(rate, capacity, Duration::ZERO).unwrap(),
        Limit::fixed_window(rate),
        Limit::sliding_window(rate),
        Limit::sliding_window_log(rate).unwrap(),
        Limit::concurrency(capacity, window).unwrap(),
    ]
}

pub(crate) fn key(number: u64) -> Key {
    KeyHasher::new([7; 16]).key(&number.to_le_bytes())
}

pub(crate) fn charge(key_number: u64, limit: &Limit) -> Charge<'_> {
    Charge {
        key: key(key_number),
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(0),
    }
}

pub(crate) fn shadow(charge: Charge<'_>) -> Charge<'_> {
    Charge {
        mode: Mode::Shadow,
        ..charge
    }
}

pub(crate) fn costing(units: u64, charge: Charge<'_>) -> Charge<'_> {
    Charge {
        cost: Cost::new(units),
        ..charge
    }
}

/// What a look says is left.
pub(crate) fn left(table: &Table, key_number: u64, limit: &Limit) -> u64 {
    table.charge(&[costing(0, charge(key_number, limit))], NOW).each[0].remaining
}
