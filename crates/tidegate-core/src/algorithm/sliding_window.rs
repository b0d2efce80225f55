//! Sliding window counter: two aligned windows stand for the moving one. Of the previous window as much counts as still
//! overlaps, as if its units had come evenly: `current + previous × (window - elapsed) / window <= quota`, compared exactly.
//!
//! Bound: less than `2 × quota` in any window's length, reached by a client that spends everything at the end of one window and
//! then as much as the fading of it frees. A client that asks evenly, for more than it may have, is given `quota` or one less in
//! each window: parts of units that are still fading round up.

use super::MAX_SKEW_NS;
use super::tally::Usage;
use crate::limit::Rate;

/// The numbers of a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlidingWindow(Rate);

/// What the window of the latest spending has spent, and what the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    start: u64,
    current: u64,
    previous: u64,
    last: u64,
    fresh_at: u64,
}

/// The two windows that matter at a moment.
struct View {
    start: u64,
    clock: u64,
    current: u64,
    previous: u64,
}

impl SlidingWindow {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self(rate)
    }

    pub(crate) const fn rate(self) -> Rate {
        self.0
    }

    /// What is used, and when `cost` fits.
    pub(crate) fn read(self, counts: Option<&Counts>, cost: u64, now: u64) -> (Usage, u64) {
        let view = self.view(counts, now);
        let used = self.used(&view);
        let fresh_at = if view.current > 0 {
            self.end_of_next(view.start)
        } else if view.previous > 0 {
            view.start + self.0.window_ns()
        } else {
            0
        };
        let usage = Usage {
            used,
            fresh_at,
            fresh_at_if_spent: self.end_of_next(view.start),
        };
        (usage, self.room_at(&view, cost))
    }

    pub(crate) fn spend(self, counts: Option<Counts>, units: u64, now: u64) -> Counts {
        let view = self.view(counts.as_ref(), now);
        Counts {
            start: view.start,
            current: view.current.saturating_add(units),
            previous: view.previous,
            last: view.clock,
            fresh_at: self.end_of_next(view.start).saturating_add(MAX_SKEW_NS),
        }
    }

    /// Gives back `units` that count until `until`, if their window is the one of the latest spending or the one before.
    pub(crate) fn give_back(self, counts: &mut Counts, units: u64, until: u64) {
        if until == self.end_of_next(counts.start) {
            counts.current = counts.current.saturating_sub(units);
        } else if until == counts.start.saturating_add(self.0.window_ns()) {
            counts.previous = counts.previous.saturating_sub(units);
        }
    }

    /// Places what was spent in the windows of this limit: the current count at the latest spending, the previous one at the end
    /// of its window. Under an unchanged limit that is where they were counted; under a changed one, the latest they can have been.
    fn view(self, counts: Option<&Counts>, now: u64) -> View {
        let window = self.0.window_ns();
        let clock = counts.map_or(now, |counts| counts.last.max(now));
        let start = clock - clock % window;
        let mut view = View {
            start,
            clock,
            current: 0,
            previous: 0,
        };
        if let Some(counts) = counts {
            view.place(counts.current, counts.last, window);
            view.place(counts.previous, counts.start.saturating_sub(1), window);
        }
        view
    }

    fn used(self, view: &View) -> u64 {
        let window = self.0.window_ns();
        let overlap = view.start + window - view.clock;
        view.current
            .saturating_add(share_rounded_up(view.previous, overlap, window))
    }

    /// The moment from which `cost` fits, where it does not now.
    fn room_at(self, view: &View, cost: u64) -> u64 {
        let (quota, window) = (self.0.quota(), self.0.window_ns());
        let Some(room) = quota.checked_sub(cost) else {
            return u64::MAX;
        };
        let end = view.start + window;
        if let Some(room) = room.checked_sub(view.current) {
            return end - overlap_that_fits(room, view.previous, window);
        }
        end.saturating_add(window) - overlap_that_fits(room, view.current, window)
    }

    /// What is spent in the window from `start` counts until then. Saturates only for windows of centuries.
    fn end_of_next(self, start: u64) -> u64 {
        start
            .saturating_add(self.0.window_ns())
            .saturating_add(self.0.window_ns())
    }
}

impl Counts {
    /// Gives back `units`: the latest window's before those of the one before.
    pub(crate) fn refund(&mut self, units: u64) {
        let of_current = units.min(self.current);
        self.current -= of_current;
        self.previous = self.previous.saturating_sub(units - of_current);
    }

    pub(crate) const fn fresh_at(&self) -> u64 {
        self.fresh_at
    }

    pub(crate) const fn last(&self) -> u64 {
        self.last
    }
}

impl View {
    fn place(&mut self, units: u64, at: u64, window: u64) {
        if at >= self.start {
            self.current = self.current.saturating_add(units);
        } else if at + window >= self.start {
            self.previous = self.previous.saturating_add(units);
        }
    }
}

/// `ceil(units × overlap / window)`, at most `units`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "overlap <= window, so the share is at most `units`"
)]
fn share_rounded_up(units: u64, overlap: u64, window: u64) -> u64 {
    (u128::from(units) * u128::from(overlap)).div_ceil(u128::from(window)) as u64
}

/// The longest overlap, at most `window`, of which `units × overlap / window <= room`.
fn overlap_that_fits(room: u64, units: u64, window: u64) -> u64 {
    (u128::from(room) * u128::from(window))
        .checked_div(u128::from(units))
        .and_then(|overlap| u64::try_from(overlap).ok())
        .map_or(window, |overlap| overlap.min(window))
}
