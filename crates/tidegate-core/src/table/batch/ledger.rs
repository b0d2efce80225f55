//! The ledger's part of one batch: its shards held, what is to be spent noted until all is decided.

use smallvec::SmallVec;

use crate::algorithm::tally::Tally;
use crate::sync::Guard;
use crate::table::ledger::{Ledger, Shard, spend};
use crate::{Charge, Cost, Decision, Timestamp};

/// Holds the shards of a batch's charges, and the charges that passed.
pub(super) struct LedgerBatch<'t, 'c> {
    ledger: &'t Ledger,
    now: Timestamp,
    wanted: SmallVec<[usize; 4]>,
    held: SmallVec<[(usize, Guard<'t, Shard>); 4]>,
    passed: SmallVec<[Passed<'c>; 4]>,
}

#[derive(Clone, Copy)]
struct Passed<'c> {
    charge: &'c Charge<'c>,
    tally: &'c Tally,
    remaining: u64,
}

impl<'t, 'c> LedgerBatch<'t, 'c> {
    pub(super) fn new(ledger: &'t Ledger, now: Timestamp) -> Self {
        Self {
            ledger,
            now,
            wanted: SmallVec::new(),
            held: SmallVec::new(),
            passed: SmallVec::new(),
        }
    }

    pub(super) fn open(&mut self, charge: &Charge<'_>, tally: &Tally) {
        self.wanted.push(self.ledger.shard_of(charge.key, tally));
    }

    /// Waits for all shards, in rising order as everybody does, and after the lines of buckets.
    pub(super) fn lock(&mut self) {
        self.wanted.sort_unstable();
        self.wanted.dedup();
        self.held
            .extend(self.wanted.iter().map(|&index| (index, self.ledger.lock(index))));
    }

    /// Decides on the state as it is with all that passed so far.
    pub(super) fn decide(&mut self, charge: &'c Charge<'_>, tally: &'c Tally) -> Decision {
        let decision = self.look(charge, tally, charge.cost);
        if decision.outcome.passes() {
            self.passed.push(Passed {
                charge,
                tally,
                remaining: decision.remaining,
            });
        }
        decision
    }

    /// What a charge of `cost` would answer, with all that passed so far.
    pub(super) fn look(&self, charge: &Charge<'_>, tally: &Tally, cost: Cost) -> Decision {
        let index = self.ledger.shard_of(charge.key, tally);
        let state = self.shard(index).and_then(|shard| shard.state(charge.key));
        let mut earlier = self
            .passed
            .iter()
            .filter(|passed| {
                passed.charge.key == charge.key && self.ledger.shard_of(charge.key, passed.tally) == index
            })
            .peekable();
        if earlier.peek().is_none() {
            return tally.look(state, cost, self.now);
        }
        // The same key again: rare, so a copy may be taken.
        let mut state = state.cloned();
        for passed in earlier {
            passed
                .tally
                .spend(&mut state, passed.charge.cost, passed.charge.hold, self.now);
        }
        tally.look(state.as_ref(), cost, self.now)
    }

    /// Forgets what passed.
    pub(super) fn undo(&mut self) {
        self.passed.clear();
    }

    /// Spends all that passed.
    pub(super) fn write(&mut self) {
        for Passed {
            charge,
            tally,
            remaining,
        } in core::mem::take(&mut self.passed)
        {
            let index = self.ledger.shard_of(charge.key, tally);
            if let Ok(position) = self.position(index) {
                spend(&mut self.held[position].1, charge, tally, remaining, self.now);
            }
        }
    }

    fn shard(&self, index: usize) -> Option<&Shard> {
        self.position(index).ok().map(|position| &*self.held[position].1)
    }

    fn position(&self, index: usize) -> Result<usize, usize> {
        self.held.binary_search_by_key(&index, |&(held, _)| held)
    }
}
