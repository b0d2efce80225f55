//! The in-memory store of all algorithms, in a fixed number of bytes.

mod batch;
mod buckets;
mod ledger;
mod line;

use crate::limit::Shape;
use crate::{Charge, Decision, Decisions, HoldId, Key, Timestamp};

use buckets::{Ask, Buckets};
use ledger::{Ledger, LedgerUsage};

/// How much memory a [`Table`] may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// Bytes for token and leaky buckets, reserved at once: 24 for each key that is to be remembered at one time. Rounded down to
    /// whole pages of 4 KiB; at least one.
    pub bucket_bytes: usize,
    /// Bytes for all other algorithms: half for windows, about 110 for each; half for logs and slots, 16 and 24 more for each
    /// spending or slot, doubled as they grow. At least [`TableSize::MIN_LEDGER_BYTES`].
    pub ledger_bytes: usize,
}

impl TableSize {
    /// Bytes of buckets per key at the working load, two thirds full.
    pub const BYTES_PER_BUCKET: usize = 24;

    /// What the ledger takes at least.
    pub const MIN_LEDGER_BYTES: usize = Ledger::MIN_BYTES;
}

/// The counters of one process, shared by its threads.
///
/// Memory is bounded in bytes whatever keys come. A counter that has come back to fresh is the same as none, so nothing needs to be
/// swept; when all places of a key are taken by counters that are not fresh, the one that is missed least goes: the one
/// with the least of its limit spent (in quarters), and among those the one nearest to fresh.
#[derive(Debug)]
pub struct Table {
    buckets: Buckets,
    ledger: Ledger,
}

/// What a [`Table`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes reserved for buckets.
    pub bucket_bytes: usize,
    /// Buckets forgotten before they were full again. More than a few mean that the table is too small, or under a flood of keys.
    pub bucket_evictions: u64,
    /// Bytes taken by all other algorithms.
    pub ledger_bytes: usize,
    /// Windows, logs and slots that are kept, those included that are fresh again and not yet replaced.
    pub ledger_entries: usize,
    /// Windows, logs and slots forgotten before they were fresh again.
    pub ledger_evictions: u64,
}

impl Table {
    /// An empty table of that size.
    pub fn new(size: TableSize) -> Self {
        Self::with_advice(size, |_, _| {})
    }

    /// An empty table. `before_use` gets the address and length in bytes of the buckets' memory before it is first touched, which is
    /// the moment to ask the operating system for huge pages.
    pub fn with_advice(size: TableSize, before_use: impl FnOnce(*const u8, usize)) -> Self {
        Self {
            buckets: Buckets::new(size.bucket_bytes, before_use),
            ledger: Ledger::new(size.ledger_bytes),
        }
    }

    /// Decides on all charges of one request together at `now`: spends all of them, or nothing.
    ///
    /// Charges are decided in their order, so a second one on the same key sees the first.
    #[inline]
    pub fn charge(&self, charges: &[Charge<'_>], now: Timestamp) -> Decisions {
        match charges {
            [charge] => Decisions::of_one(self.charge_one(charge, now), charge.mode),
            _ => batch::charge(self, charges, now),
        }
    }

    /// Decides on a single charge at `now`: the same as [`Table::charge`] of it alone, for those who need no list of answers.
    /// The charge is spent if the answer passes.
    #[inline]
    pub fn charge_one(&self, charge: &Charge<'_>, now: Timestamp) -> Decision {
        match charge.limit.shape() {
            Shape::Bucket(bucket) => self.buckets.charge(
                charge.key,
                Ask {
                    bucket,
                    cost: charge.cost.units(),
                    now: now.as_nanos(),
                },
            ),
            Shape::Tally(tally) => self.ledger.charge(charge, tally, now),
        }
    }

    /// Gives back at `now` what `charges` spent at `granted_at`, where `decisions` are the answers they got then.
    ///
    /// If it is given back at once, a counter answers as if it had never been charged. Whatever was asked meanwhile, it admits no more
    /// than its limit, with what was given back left out: what flowed into a bucket meanwhile, or counts no more, is not given
    /// twice. A counter that was forgotten meanwhile gets up to what is given back too much.
    pub fn give_back(
        &self,
        charges: &[Charge<'_>],
        decisions: &Decisions,
        granted_at: Timestamp,
        now: Timestamp,
    ) {
        if !decisions.charged {
            return;
        }
        let spent = charges.iter().zip(&decisions.each);
        let spent = spent.filter(|(charge, decision)| decision.outcome.passes() && charge.cost.units() > 0);
        for (charge, decision) in spent {
            let counted_until = granted_at.saturating_add(decision.reset_after);
            match charge.limit.shape() {
                Shape::Bucket(bucket) => {
                    let ask = Ask {
                        bucket,
                        cost: charge.cost.units(),
                        now: now.as_nanos(),
                    };
                    self.buckets.give_back(charge.key, ask, granted_at.as_nanos());
                }
                Shape::Tally(tally) => self.ledger.give_back(charge, tally, counted_until, now),
            }
        }
    }

    /// Gives back the cost of each of `charges`, of which nothing is known but that it was spent some time ago: so much of what the
    /// counter holds at `now`, the latest spendings first, and never more than it holds. Under a concurrency limit those slots come
    /// back that were taken first.
    ///
    /// In no span of time is more admitted than the limit's bound and what is given back in that span.
    pub fn refund(&self, charges: &[Charge<'_>], now: Timestamp) {
        for charge in charges.iter().filter(|charge| charge.cost.units() > 0) {
            match charge.limit.shape() {
                Shape::Bucket(bucket) => {
                    let ask = Ask {
                        bucket,
                        cost: charge.cost.units(),
                        now: now.as_nanos(),
                    };
                    self.buckets.refund(charge.key, ask);
                }
                Shape::Tally(tally) => self.ledger.refund(charge, tally, now),
            }
        }
    }

    /// Gives back the slot of a concurrency limit that `hold` took under `key`. Twice is the same as once.
    pub fn release(&self, key: Key, hold: HoldId, now: Timestamp) {
        self.ledger.release(key, hold, now);
    }

    /// What the table holds and has lost.
    pub fn usage(&self) -> Usage {
        let LedgerUsage {
            bytes,
            live,
            evictions,
        } = self.ledger.usage();
        Usage {
            bucket_bytes: self.buckets.bytes(),
            bucket_evictions: self.buckets.evictions(),
            ledger_bytes: bytes,
            ledger_entries: live,
            ledger_evictions: evictions,
        }
    }

    /// Buckets that are not full at `now`. Looks at all of them: for a metric now and then, not for each request.
    pub fn live_buckets(&self, now: Timestamp) -> usize {
        self.buckets.live(now.as_nanos())
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
