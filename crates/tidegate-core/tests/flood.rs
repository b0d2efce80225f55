//! Ten million invented keys: memory stays at its cap, and who is limited stays limited.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;
mod counted;

use std::time::Duration;

use common::{NOW, charge, limits, limits_per};
use tidegate_core::{Charge, HoldId, Limit, Table, TableSize};

#[global_allocator]
static ALLOCATOR: counted::Counted = counted::Counted;

const MEBIBYTE: usize = 1 << 20;

/// Sends `keys` invented keys, one unit each, and now and then asks for the limited ones, which must stay refused.
fn flood(table: &Table, keys: u64, invented: &Limit, limited: &Limit) {
    let ask = |number| table.charge(&[charge(number, limited)], NOW).charged;
    for number in 0..LIMITED {
        while ask(number) {}
    }
    for number in 0..keys {
        let invented = Charge {
            hold: HoldId(number),
            ..charge(1_000_000 + number, invented)
        };
        assert!(table.charge(&[invented], NOW).charged);
        if number % 1_000 == 0 {
            assert!(!ask(number / 1_000 % LIMITED), "a limited key was freed");
        }
    }
    assert!((0..LIMITED).all(|number| !ask(number)), "a limited key was freed");
}

const LIMITED: u64 = 100;

// One test, so that no other allocates at the same time.
#[test]
fn ten_million_invented_keys_leave_memory_at_its_cap_and_a_limited_client_limited() {
    let size = TableSize {
        bucket_bytes: 4 * MEBIBYTE,
        ledger_bytes: 4 * MEBIBYTE,
    };
    let before = counted::allocated();
    let table = Table::new(size);
    let reserved = counted::allocated() - before;
    // Besides, some words for the shards themselves.
    assert!(
        reserved <= size.bucket_bytes + size.ledger_bytes + 64 * 1024,
        "{reserved} bytes reserved"
    );

    // The limited are nearer to fresh than the invented: only how much they have spent keeps them.
    let (invented, limited) = (limits(10), limits_per(Duration::from_secs(60), 10));
    counted::restart_peak();
    flood(&table, 10_000_000, &invented[0], &limited[0]);
    assert_eq!(
        counted::peak(),
        before + reserved,
        "a charge on a bucket allocated"
    );
    assert_eq!(table.usage().bucket_bytes, size.bucket_bytes);
    assert!(table.usage().bucket_evictions > 9_000_000);

    for (limit, limited) in invented.iter().zip(&limited).skip(2) {
        let evictions = table.usage().ledger_evictions;
        flood(&table, 300_000, limit, limited);
        assert!(
            table.usage().ledger_evictions > evictions + 200_000,
            "{}",
            limit.algorithm().name()
        );
        assert!(table.usage().ledger_bytes <= size.ledger_bytes);
    }
    let [.., slots] = &invented;
    for number in 0..200_000 {
        let slot = Charge {
            hold: HoldId(number),
            ..charge(5_000_000 + number / 9, slots)
        };
        assert!(table.charge(&[slot], NOW).charged);
        assert!(
            number % 1_000 > 0 || table.usage().ledger_bytes <= size.ledger_bytes,
            "long lists"
        );
    }
    let peak = counted::peak() - before;
    assert!(
        peak <= size.bucket_bytes + size.ledger_bytes + 64 * 1024,
        "{peak} bytes at most"
    );
    assert_eq!(table.usage().bucket_bytes, size.bucket_bytes);
}
