//! Fixed window: at most `quota` units in each aligned window. The state is a count and the moment of the latest spending.
//!
//! Bound: `quota` in each window, so just under twice that across a window's end.

use super::MAX_SKEW_NS;
#[cfg(feature = "calendar")]
use super::calendar::Calendar;
use super::tally::Usage;
use crate::limit::Rate;

/// The numbers of a fixed window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FixedWindow {
    quota: u64,
    grid: Grid,
}

/// How time is cut into windows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Grid {
    /// Windows of one length, the first beginning at the epoch.
    Even { window_ns: u64 },
    /// Days, weeks or months of a time zone.
    #[cfg(feature = "calendar")]
    Calendar(Calendar),
}

/// A window: from `start` until just before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What one window has spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    used: u64,
    last: u64,
    fresh_at: u64,
}

impl FixedWindow {
    pub(crate) const fn even(rate: Rate) -> Self {
        Self {
            quota: rate.quota(),
            grid: Grid::Even {
                window_ns: rate.window_ns(),
            },
        }
    }

    #[cfg(feature = "calendar")]
    pub(crate) const fn calendar(quota: u64, calendar: Calendar) -> Self {
        Self {
            quota,
            grid: Grid::Calendar(calendar),
        }
    }

    pub(crate) const fn quota(&self) -> u64 {
        self.quota
    }

    pub(crate) const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What is used, and when the window ends.
    pub(crate) fn read(&self, count: Option<&Count>, now: u64) -> (Usage, u64) {
        let Span { start, end } = self.grid.span(clock(count, now));
        let used = used_since(start, count);
        let usage = Usage {
            used,
            fresh_at: if used == 0 { 0 } else { end },
            fresh_at_if_spent: end,
        };
        (usage, end)
    }

    pub(crate) fn spend(&self, count: Option<Count>, units: u64, now: u64) -> Count {
        let last = clock(count.as_ref(), now);
        let Span { start, end } = self.grid.span(last);
        Count {
            used: used_since(start, count.as_ref()).saturating_add(units),
            last,
            fresh_at: end.saturating_add(MAX_SKEW_NS),
        }
    }

    /// Gives back `units` of the window that ends at `end`, if that is still the one that is counted.
    pub(crate) fn give_back(&self, count: &mut Count, units: u64, end: u64) {
        if self.grid.span(count.last).end == end {
            count.used = count.used.saturating_sub(units);
        }
    }
}

impl Count {
    /// Gives back `units` of those that were counted last.
    pub(crate) const fn refund(&mut self, units: u64) {
        self.used = self.used.saturating_sub(units);
    }

    pub(crate) const fn fresh_at(&self) -> u64 {
        self.fresh_at
    }

    pub(crate) const fn last(&self) -> u64 {
        self.last
    }
}

impl Grid {
    pub(crate) fn span(&self, at: u64) -> Span {
        match self {
            Self::Even { window_ns } => {
                let start = at - at % window_ns;
                Span {
                    start,
                    end: start + window_ns,
                }
            }
            #[cfg(feature = "calendar")]
            Self::Calendar(calendar) => calendar.span(at),
        }
    }
}

fn clock(count: Option<&Count>, now: u64) -> u64 {
    count.map_or(now, |count| count.last.max(now))
}

/// All that was spent may have been spent as late as the latest of it.
fn used_since(start: u64, count: Option<&Count>) -> u64 {
    count.map_or(0, |count| if count.last >= start { count.used } else { 0 })
}
