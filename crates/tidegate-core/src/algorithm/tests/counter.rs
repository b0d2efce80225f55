//! One key under test: a limit with whatever state its algorithm keeps, as a table would hold it.

use crate::algorithm::MAX_SKEW_NS;
use crate::algorithm::state::State;
use crate::limit::Shape;
use crate::{Cost, Decision, HoldId, Limit, Outcome, Timestamp};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counter {
    pub(super) limit: Limit,
    tat: u64,
    state: Option<State>,
}

impl Counter {
    pub(super) fn new(limit: Limit) -> Self {
        Self {
            limit,
            tat: 0,
            state: None,
        }
    }

    pub(super) fn look(&self, cost: u64, now: u64) -> Decision {
        match self.limit.shape() {
            Shape::Bucket(bucket) => bucket.decide(self.tat, cost, now).decision,
            Shape::Tally(tally) => {
                tally.look(self.state.as_ref(), Cost::new(cost), Timestamp::from_nanos(now))
            }
        }
    }

    /// Looks, and spends if it passes. A refusal, and a cost of 0, must leave every bit as it was.
    pub(super) fn charge(&mut self, cost: u64, hold: u64, now: u64) -> Decision {
        let before = self.clone();
        let decision = self.look(cost, now);
        match self.limit.shape() {
            Shape::Bucket(bucket) => {
                self.tat = bucket.decide(self.tat, cost, now).next_tat.unwrap_or(self.tat)
            }
            Shape::Tally(tally) if decision.outcome.passes() => tally.spend(
                &mut self.state,
                Cost::new(cost),
                HoldId(hold),
                Timestamp::from_nanos(now),
            ),
            Shape::Tally(_) => {}
        }
        if cost == 0 || !decision.outcome.passes() {
            assert_eq!(*self, before, "a look or a refusal changed the state");
        }
        decision
    }

    pub(super) fn admits(&mut self, cost: u64, now: u64) -> bool {
        self.charge(cost, 0, now).outcome.passes()
    }

    pub(super) fn release(&mut self, hold: u64) {
        if let Some(state) = &mut self.state {
            state.release(HoldId(hold));
        }
    }

    pub(super) fn refund(&mut self, units: u64, now: u64) {
        match (self.limit.shape(), &mut self.state) {
            (Shape::Bucket(bucket), _) => self.tat = bucket.refund(self.tat, units),
            (Shape::Tally(tally), Some(state)) => {
                tally.refund(state, Cost::new(units), Timestamp::from_nanos(now));
            }
            (Shape::Tally(_), None) => {}
        }
    }

    /// Drops state that equals none, as a table does to make room.
    pub(super) fn forget_if_fresh(&mut self, now: u64) {
        if self.tat.saturating_add(MAX_SKEW_NS) <= now {
            self.tat = 0;
        }
        self.state = self.state.take().filter(|state| state.fresh_at() > now);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, State::heap_bytes)
    }

    pub(super) fn retry_after(&self, cost: u64, now: u64) -> Option<u64> {
        match self.look(cost, now).outcome {
            Outcome::Deny { retry_after } => Some(u64::try_from(retry_after.as_nanos()).unwrap()),
            Outcome::Allow { .. } | Outcome::Never => None,
        }
    }
}
