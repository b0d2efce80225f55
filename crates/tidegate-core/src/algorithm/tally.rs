//! The algorithms that keep a [`State`]: how they look at it, and how they spend.
//!
//! A key's clock never goes back: a `now` before the latest spending that the state knows counts as that moment. So
//! a thread that read the clock early, or an instance whose clock is behind, finds no tokens that are not there.
//!
//! State holds no limit. Under a changed one it is read by the moments it tells of, and a spending whose moment it tells
//! only roughly counts as the latest it can have been. So a changed limit never admits more than its own bound,
//! counting what the state still knows of the time before the change; and a client that waits gets free, since those
//! moments do not move. State left by another algorithm counts as absent.

use core::time::Duration;

use super::concurrency::Concurrency;
use super::fixed_window::FixedWindow;
use super::sliding_window::SlidingWindow;
use super::sliding_window_log::SlidingWindowLog;
use super::state::State;
use crate::{Cost, Decision, HoldId, Outcome, Timestamp};

/// The numbers of a limit whose state is kept as a [`State`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tally {
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingWindowLog(SlidingWindowLog),
    Concurrency(Concurrency),
}

/// What a counter holds at one moment, under one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Units spent, rounded up.
    pub(crate) used: u64,
    /// From when it equals a counter never used, if nothing more is spent.
    pub(crate) fresh_at: u64,
    /// The same, if something is spent now.
    pub(crate) fresh_at_if_spent: u64,
}

impl Tally {
    /// The units that can be spent when nothing has been.
    pub(crate) fn capacity(&self) -> u64 {
        match self {
            Self::FixedWindow(limit) => limit.quota(),
            Self::SlidingWindow(limit) => limit.rate().quota(),
            Self::SlidingWindowLog(limit) => limit.rate().quota(),
            Self::Concurrency(limit) => limit.slots(),
        }
    }

    /// The decision on `cost`, with `remaining` and `reset_after` as they would be after it. Writes nothing.
    pub(crate) fn look(&self, state: Option<&State>, cost: Cost, now: Timestamp) -> Decision {
        let state = state.filter(|state| state.counts_at(now));
        let forgotten_at = state.map_or(u64::MAX, State::fresh_at);
        let (usage, room_at) = self.read(state, cost, now);
        usage.decide(
            self.capacity(),
            cost,
            now,
            room_at.min(forgotten_at),
            forgotten_at,
        )
    }

    /// Spends `cost`, which a look at the same state has just let pass. A cost of 0 leaves the state as it is.
    pub(crate) fn spend(&self, state: &mut Option<State>, cost: Cost, hold: HoldId, now: Timestamp) {
        if cost.units() == 0 {
            return;
        }
        let found = state.take().filter(|state| state.counts_at(now));
        let now = now.as_nanos();
        let units = cost.units();
        *state = Some(match self {
            Self::FixedWindow(limit) => {
                State::FixedWindow(limit.spend(found.and_then(State::into_count), units, now))
            }
            Self::SlidingWindow(limit) => {
                State::SlidingWindow(limit.spend(found.and_then(State::into_counts), units, now))
            }
            Self::SlidingWindowLog(limit) => {
                State::Log(limit.spend(found.and_then(State::into_log), units, now))
            }
            Self::Concurrency(limit) => {
                State::Slots(limit.spend(found.and_then(State::into_slots), units, hold, now))
            }
        });
    }

    /// Gives back a `cost` that was spent under `hold` and was to count until `counted_until`. What counts no more, or was spent
    /// by another algorithm, stays as it is.
    pub(crate) fn give_back(&self, state: &mut State, cost: Cost, hold: HoldId, counted_until: Timestamp) {
        let (units, until) = (cost.units(), counted_until.as_nanos());
        match (self, state) {
            (Self::FixedWindow(limit), State::FixedWindow(count)) => limit.give_back(count, units, until),
            (Self::SlidingWindow(limit), State::SlidingWindow(counts)) => {
                limit.give_back(counts, units, until);
            }
            (Self::SlidingWindowLog(limit), State::Log(log)) => limit.give_back(log, units, until),
            (Self::Concurrency(_), State::Slots(slots)) => slots.release(hold),
            _ => {}
        }
    }

    /// Gives back `cost` units of which it is not known when they were spent: the latest that count, of slots the earliest. Fewer if there
    /// are fewer; none of what another algorithm spent.
    pub(crate) fn refund(&self, state: &mut State, cost: Cost, now: Timestamp) {
        if !state.counts_at(now) {
            return;
        }
        let (units, now) = (cost.units(), now.as_nanos());
        match (self, state) {
            (Self::FixedWindow(_), State::FixedWindow(count)) => count.refund(units),
            (Self::SlidingWindow(_), State::SlidingWindow(counts)) => counts.refund(units),
            (Self::SlidingWindowLog(limit), State::Log(log)) => limit.refund(log, units, now),
            (Self::Concurrency(limit), State::Slots(slots)) => limit.refund(slots, units, now),
            _ => {}
        }
    }

    /// What the state says, and the moment from which `cost` fits if it does not now.
    fn read(&self, state: Option<&State>, cost: Cost, now: Timestamp) -> (Usage, u64) {
        let (cost, now) = (cost.units(), now.as_nanos());
        match (self, state) {
            (Self::FixedWindow(limit), Some(State::FixedWindow(count))) => limit.read(Some(count), now),
            (Self::FixedWindow(limit), _) => limit.read(None, now),
            (Self::SlidingWindow(limit), Some(State::SlidingWindow(counts))) => {
                limit.read(Some(counts), cost, now)
            }
            (Self::SlidingWindow(limit), _) => limit.read(None, cost, now),
            (Self::SlidingWindowLog(limit), Some(State::Log(log))) => limit.read(Some(log), cost, now),
            (Self::SlidingWindowLog(limit), _) => limit.read(None, cost, now),
            (Self::Concurrency(limit), Some(State::Slots(slots))) => limit.read(Some(slots), cost, now),
            (Self::Concurrency(limit), _) => limit.read(None, cost, now),
        }
    }
}

impl Usage {
    /// What a counter never used holds, when what is spent now counts until `fresh_at_if_spent`.
    pub(crate) const fn none(fresh_at_if_spent: u64) -> Self {
        Self {
            used: 0,
            fresh_at: 0,
            fresh_at_if_spent,
        }
    }

    fn decide(self, capacity: u64, cost: Cost, now: Timestamp, room_at: u64, forgotten_at: u64) -> Decision {
        let cost = cost.units();
        let after = |moment: u64| Duration::from_nanos(moment.saturating_sub(now.as_nanos()));
        let free = capacity.saturating_sub(self.used);
        if cost > 0 && cost <= free {
            return Decision {
                outcome: Outcome::ALLOW,
                remaining: free - cost,
                reset_after: after(self.fresh_at_if_spent),
            };
        }
        let outcome = if cost == 0 {
            Outcome::ALLOW
        } else if cost > capacity {
            Outcome::Never
        } else {
            Outcome::Deny {
                retry_after: after(room_at),
            }
        };
        Decision {
            outcome,
            remaining: free,
            reset_after: after(self.fresh_at.min(forgotten_at)),
        }
    }
}
