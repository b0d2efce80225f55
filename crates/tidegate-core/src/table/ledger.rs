//! Windows, logs and concurrency: states of several words, in bounded maps.
//!
//! Half of the bytes are for windows, whose states have one size. A quarter is for the entries of logs and slots, and a
//! quarter for what those hold on the heap, so that long logs put out other logs and never a window.
//!
//! When a shard is full, entries that are fresh go first; when there are none, the entry with the lowest pressure, and of those
//! the one nearest to fresh. That eviction is counted. One log or one list of slots is never larger than a shard's budget; while it grows
//! it may pass it, by its own size at most, until the others have made room.

mod order;
mod shard;

use alloc::vec::Vec;

use crate::algorithm::quarters;
use crate::algorithm::state::State;
use crate::algorithm::tally::Tally;
use crate::sync::{Guard, Mutex};
use crate::{Charge, Decision, HoldId, Key, Timestamp};

pub(super) use shard::Shard;

/// Room for the longest log and the longest list of slots: 10,000 grow to 16,384 of 24 bytes.
const MIN_HEAP_BUDGET: usize = 512 * 1024;

/// More shards than this gain nothing on any machine that we know.
const MAX_SHARDS: usize = 64;

#[derive(Debug)]
pub(super) struct Ledger {
    /// Those of windows, then as many of logs and slots.
    shards: Vec<Mutex<Shard>>,
}

/// What a ledger holds and has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LedgerUsage {
    pub(super) bytes: usize,
    pub(super) live: usize,
    pub(super) evictions: u64,
}

impl Ledger {
    /// A ledger within `bytes`, or [`crate::TableSize::MIN_LEDGER_BYTES`] if that is more.
    pub(super) fn new(bytes: usize) -> Self {
        let quarter = bytes.max(Self::MIN_BYTES) / 4;
        let most = (quarter / MIN_HEAP_BUDGET).clamp(1, MAX_SHARDS);
        let count = 1 << most.ilog2();
        let share = quarter / count;
        let windows = (0..count).map(|_| Shard::new(entries_in(2 * share), 0));
        let lists = (0..count).map(|_| Shard::new(entries_in(share), share));
        Self {
            shards: windows.chain(lists).map(Mutex::new).collect(),
        }
    }

    pub(super) const MIN_BYTES: usize = 4 * MIN_HEAP_BUDGET;

    /// Decides on one charge and writes what it leaves.
    pub(super) fn charge(&self, charge: &Charge<'_>, tally: &Tally, now: Timestamp) -> Decision {
        let mut shard = self.lock(self.shard_of(charge.key, tally));
        let decision = tally.look(shard.state(charge.key), charge.cost, now);
        if decision.outcome.passes() {
            spend(&mut shard, charge, tally, decision.remaining, now);
        }
        decision
    }

    pub(super) fn release(&self, key: Key, hold: HoldId, now: Timestamp) {
        let mut shard = self.lock(self.shards.len() / 2 + self.nth(key));
        if let Some(pressure) = shard.pressure(key)
            && let Some(mut state) = shard.take(key)
        {
            state.release(hold);
            shard.put(key, state, pressure, now.as_nanos());
        }
    }

    /// Gives back what `charge` spent, which was to count until `counted_until`.
    pub(super) fn give_back(
        &self,
        charge: &Charge<'_>,
        tally: &Tally,
        counted_until: Timestamp,
        now: Timestamp,
    ) {
        self.change(charge.key, tally, now, |state| {
            tally.give_back(state, charge.cost, charge.hold, counted_until);
        });
    }

    /// Gives back the cost of `charge`, whenever it was spent.
    pub(super) fn refund(&self, charge: &Charge<'_>, tally: &Tally, now: Timestamp) {
        self.change(charge.key, tally, now, |state| {
            tally.refund(state, charge.cost, now);
        });
    }

    /// Changes what is kept under `key`, if anything is.
    fn change(&self, key: Key, tally: &Tally, now: Timestamp, change: impl FnOnce(&mut State)) {
        let mut shard = self.lock(self.shard_of(key, tally));
        if let Some(pressure) = shard.pressure(key)
            && let Some(mut state) = shard.take(key)
        {
            change(&mut state);
            shard.put(key, state, pressure, now.as_nanos());
        }
    }

    pub(super) fn usage(&self) -> LedgerUsage {
        let mut usage = LedgerUsage::default();
        for index in 0..self.shards.len() {
            let shard = self.lock(index);
            usage.bytes += shard.bytes();
            usage.live += shard.live();
            usage.evictions += shard.evictions();
        }
        usage
    }

    /// The shard that keeps `key` under such a limit. Several are locked in rising order.
    pub(super) fn shard_of(&self, key: Key, tally: &Tally) -> usize {
        let first = match tally {
            Tally::FixedWindow(_) | Tally::SlidingWindow(_) => 0,
            Tally::SlidingWindowLog(_) | Tally::Concurrency(_) => self.shards.len() / 2,
        };
        first + self.nth(key)
    }

    pub(super) fn lock(&self, index: usize) -> Guard<'_, Shard> {
        self.shards[index].lock()
    }

    #[allow(clippy::cast_possible_truncation, reason = "below the number of shards")]
    fn nth(&self, key: Key) -> usize {
        (key.hash() >> 64) as usize % (self.shards.len() / 2)
    }
}

/// Spends a charge that a look at the shard let pass with `remaining` left.
pub(super) fn spend(shard: &mut Shard, charge: &Charge<'_>, tally: &Tally, remaining: u64, now: Timestamp) {
    if charge.cost.units() == 0 {
        return;
    }
    let mut state: Option<State> = shard.take(charge.key);
    tally.spend(&mut state, charge.cost, charge.hold, now);
    if let Some(state) = state {
        let capacity = tally.capacity();
        shard.put(
            charge.key,
            state,
            quarters(capacity.saturating_sub(remaining), capacity),
            now.as_nanos(),
        );
    }
}

fn entries_in(bytes: usize) -> u32 {
    u32::try_from(bytes / Shard::ENTRY_BYTES)
        .unwrap_or(u32::MAX - 1)
        .max(1)
}
