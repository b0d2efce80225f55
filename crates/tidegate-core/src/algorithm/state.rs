//! What is remembered of a key by the algorithms that need more than one `u64`. No limit is in it.

use super::concurrency::Slots;
use super::fixed_window::Count;
use super::sliding_window::Counts;
use super::sliding_window_log::Log;
use crate::{HoldId, Timestamp};

/// Spending further ahead of `now` than this was written by a clock that was wrong, or by one that has been set back
/// since: it counts as absent, so that one bad moment cannot lock a key for years. Far above any skew, and above the time for
/// which a thread can be stopped between reading the clock and deciding.
const MAX_BACKSTEP_NS: u64 = 60_000_000_000;

/// The state of one key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    FixedWindow(Count),
    SlidingWindow(Counts),
    Log(Log),
    Slots(Slots),
}

impl State {
    /// The moment, in nanoseconds, from which this equals no state at all for every clock: it may be dropped then, and every
    /// look already takes it as absent. 0 if nothing is left in it.
    pub(crate) fn fresh_at(&self) -> u64 {
        match self {
            Self::FixedWindow(count) => count.fresh_at(),
            Self::SlidingWindow(counts) => counts.fresh_at(),
            Self::Log(log) => log.fresh_at(),
            Self::Slots(slots) => slots.fresh_at(),
        }
    }

    /// Bytes on the heap, besides the `size_of` of this.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::FixedWindow(_) | Self::SlidingWindow(_) => 0,
            Self::Log(log) => log.heap_bytes(),
            Self::Slots(slots) => slots.heap_bytes(),
        }
    }

    /// Gives back what `hold` took. Twice is the same as once; algorithms without slots have nothing to give back.
    pub(crate) fn release(&mut self, hold: HoldId) {
        if let Self::Slots(slots) = self {
            slots.release(hold);
        }
    }

    /// Whether a look at `now` may believe this.
    pub(crate) fn counts_at(&self, now: Timestamp) -> bool {
        let now = now.as_nanos();
        now < self.fresh_at() && self.last() <= now.saturating_add(MAX_BACKSTEP_NS)
    }

    pub(crate) fn into_count(self) -> Option<Count> {
        match self {
            Self::FixedWindow(count) => Some(count),
            Self::SlidingWindow(_) | Self::Log(_) | Self::Slots(_) => None,
        }
    }

    pub(crate) fn into_counts(self) -> Option<Counts> {
        match self {
            Self::SlidingWindow(counts) => Some(counts),
            Self::FixedWindow(_) | Self::Log(_) | Self::Slots(_) => None,
        }
    }

    pub(crate) fn into_log(self) -> Option<Log> {
        match self {
            Self::Log(log) => Some(log),
            Self::FixedWindow(_) | Self::SlidingWindow(_) | Self::Slots(_) => None,
        }
    }

    pub(crate) fn into_slots(self) -> Option<Slots> {
        match self {
            Self::Slots(slots) => Some(slots),
            Self::FixedWindow(_) | Self::SlidingWindow(_) | Self::Log(_) => None,
        }
    }

    /// The key's clock: the moment of the latest spending.
    fn last(&self) -> u64 {
        match self {
            Self::FixedWindow(count) => count.last(),
            Self::SlidingWindow(counts) => counts.last(),
            Self::Log(log) => log.last(),
            Self::Slots(slots) => slots.last(),
        }
    }
}
