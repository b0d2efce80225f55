//! No sweeper: what is fresh again makes room.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, charge, limits};
use tidegate_core::{Table, TableSize};

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
