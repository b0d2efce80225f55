//! Token bucket and leaky bucket, as the generic cell rate algorithm (ITU-T I.371): the state is one moment, the
//! theoretical arrival time (tat), at which the bucket will be full again. A tat in the past is a full bucket.

use core::time::Duration;

use super::cells::Cells;
use crate::decision::{Decision, Outcome};
use crate::limit::{LimitError, MAX_SPAN_NS, Rate};
use crate::time::nanos;

/// How far clocks that share state may disagree. A tat further ahead than an empty bucket and this was left by a
/// limit that has changed since.
const MAX_SKEW_NS: u64 = 5_000_000_000;

/// The numbers of a token bucket, or of a leaky one where `max_delay_ns` is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    rate: Rate,
    cells: Cells,
    burst: u64,
    max_delay_ns: u64,
    /// The longest way from full to empty, in nanoseconds.
    span_ns: u64,
}

/// A decision, and the tat to store if it differs from the one found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) decision: Decision,
    pub(crate) next_tat: Option<u64>,
}

impl Bucket {
    pub(crate) fn new(rate: Rate, burst: u64, max_delay: Duration) -> Result<Self, LimitError> {
        if burst == 0 {
            return Err(LimitError::ZeroBurst);
        }
        let cells = Cells::new(rate)?;
        let span = cells.longest(burst);
        let max_delay_ns = nanos(max_delay);
        // Two nanoseconds of room: one to settle `now`, one for a longer cell.
        if span + u128::from(max_delay_ns) + 2 > u128::from(MAX_SPAN_NS) {
            return Err(LimitError::SpanTooLong);
        }
        let span_ns = u64::try_from(span).map_err(|_| LimitError::SpanTooLong)?;
        Ok(Self {
            rate,
            cells,
            burst,
            max_delay_ns,
            span_ns,
        })
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    pub(crate) const fn burst(&self) -> u64 {
        self.burst
    }

    pub(crate) const fn max_delay(&self) -> Duration {
        Duration::from_nanos(self.max_delay_ns)
    }

    /// Decides on `cost` units at `now` with the bucket full at `tat`.
    ///
    /// A refusal stores nothing, with one exception: a tat that this limit could not have left (further ahead than an empty
    /// bucket and any skew) is drawn in to that of an empty bucket, so that a changed limit holds at once for old keys.
    #[inline]
    pub(crate) fn decide(&self, tat: u64, cost: u64, now: u64) -> Step {
        let Some(emptied_by_older_limit) = self.draw_in(tat, now) else {
            return self.decide_sane(tat, cost, now);
        };
        let mut step = self.decide_sane(emptied_by_older_limit, cost, now);
        if cost > 0 && step.next_tat.is_none() {
            step.next_tat = Some(emptied_by_older_limit);
        }
        step
    }

    /// How urgent it is to remember a bucket that is full at `tat`: 0 below a quarter spent, to 3 from three quarters.
    #[inline]
    pub(crate) fn pressure(&self, tat: u64, now: u64) -> u64 {
        let spent = tat.saturating_sub(now);
        u64::from(spent > self.span_ns / 4)
            + u64::from(spent > self.span_ns / 2)
            + u64::from(spent > self.span_ns / 4 * 3)
    }

    #[inline]
    fn draw_in(&self, tat: u64, now: u64) -> Option<u64> {
        let farthest = now
            .saturating_add(self.span_ns)
            .saturating_add(self.max_delay_ns)
            .saturating_add(MAX_SKEW_NS);
        (tat > farthest).then(|| self.cells.ahead(self.cells.settle(now), self.burst))
    }

    #[inline]
    fn decide_sane(&self, tat: u64, cost: u64, now: u64) -> Step {
        let full_at = self.cells.settle(tat).max(self.cells.settle(now));
        let spent = self.cells.units_between(now, full_at);
        if cost > self.burst {
            return self.unspent(Outcome::Never, spent, full_at, now);
        }
        if cost == 0 {
            return self.unspent(Outcome::ALLOW, spent, full_at, now);
        }
        // The moment at which the bucket holds `cost` units.
        let room = self.burst - cost;
        let wait = if spent <= room {
            0
        } else {
            self.cells.behind(full_at, room).saturating_sub(now)
        };
        if wait > self.max_delay_ns {
            let retry_after = Duration::from_nanos(wait - self.max_delay_ns);
            return self.unspent(Outcome::Deny { retry_after }, spent, full_at, now);
        }
        let next = self.cells.ahead(full_at, cost);
        Step {
            decision: Decision {
                outcome: Outcome::Allow {
                    delay: Duration::from_nanos(wait),
                },
                remaining: self.burst.saturating_sub(spent.saturating_add(cost)),
                reset_after: Duration::from_nanos(next - now),
            },
            next_tat: Some(next),
        }
    }

    fn unspent(&self, outcome: Outcome, spent: u64, full_at: u64, now: u64) -> Step {
        let reset_after = if spent == 0 { 0 } else { full_at - now };
        Step {
            decision: Decision {
                outcome,
                remaining: self.burst.saturating_sub(spent),
                reset_after: Duration::from_nanos(reset_after),
            },
            next_tat: None,
        }
    }
}
