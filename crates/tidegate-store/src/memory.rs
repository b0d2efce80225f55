//! The store of one process: core's table.

use tidegate_core::{Charge, Decisions, HoldId, Key, Table, TableSize, Timestamp};

use crate::{NotRefunded, Store, StoreError, huge_pages};

/// Counters in this process's memory: under a microsecond per request, never fails, forgotten when the process ends.
///
/// Each instance counts for itself: with several, a client can get the limit from every one of them. Keys must come from a
/// hasher with a secret that clients do not know, random at each start.
#[derive(Debug)]
pub struct Memory {
    table: Table,
}

impl Memory {
    /// An empty store of that size. On Linux the buckets ask for huge pages, which saves an address translation per decision.
    pub fn new(size: TableSize) -> Self {
        Self {
            table: Table::with_advice(size, huge_pages::advise),
        }
    }

    /// The table itself, for its figures, and for callers that need no future.
    pub fn table(&self) -> &Table {
        &self.table
    }
}

impl Store for Memory {
    async fn charge(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decisions, StoreError> {
        Ok(self.table.charge(charges, now))
    }

    async fn release(&self, key: Key, hold: HoldId, now: Timestamp) -> Result<(), StoreError> {
        self.table.release(key, hold, now);
        Ok(())
    }

    async fn refund(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<(), NotRefunded> {
        self.table.refund(charges, now);
        Ok(())
    }
}
