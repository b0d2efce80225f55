//! Token bucket and leaky bucket, as the generic cell rate algorithm (ITU-T I.371): the state is one moment, the
//! theoretical arrival time (tat), at which the bucket will be full again. A tat in the past is a full bucket.

use core::time::Duration;

use super::MAX_SKEW_NS;
use super::cells::Cells;
use super::quarters;
use crate::decision::{Decision, Outcome};
use crate::limit::{LimitError, MAX_SPAN_NS, Rate};
use crate::time::nanos;

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

/// By how much a tat may be later than the span says: one nanosecond to settle, one for a longer cell.
const ROUNDING_NS: u64 = 2;

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
        if span + u128::from(max_delay_ns) + u128::from(ROUNDING_NS) > u128::from(MAX_SPAN_NS) {
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

    /// Decides on `cost` units at `now` with the bucket full at `tat`. A refusal stores nothing.
    ///
    /// A tat further ahead than an empty bucket and any skew was left by a limit that has changed since. Then one request
    /// passes, and leaves the bucket empty: the changed limit holds at once for old keys, and never admits more than its bound.
    pub(crate) fn decide(&self, tat: u64, cost: u64, now: u64) -> Step {
        if tat > self.farthest(now) {
            return self.take_over(cost, now);
        }
        self.decide_sane(tat, cost, now)
    }

    /// The same where it takes few instructions: for even cells, as most rates have them, a tat that this limit can have left, a
    /// cost that can pass, and no waiting.
    ///
    /// What is stored hangs on sums and products alone. The one division, for `remaining`, is off that way, so the next decision on
    /// the key does not wait for it, and who does not look at `remaining` does not pay for it.
    #[inline(always)]
    pub(crate) fn decide_if_simple(&self, tat: u64, cost: u64, now: u64) -> Option<Step> {
        let Cells::Even { interval } = self.cells else {
            return None;
        };
        if tat > self.farthest(now) || cost.wrapping_sub(1) >= self.burst || self.max_delay_ns > 0 {
            return None;
        }
        let spent = tat.saturating_sub(now);
        // `cost` is at most `burst`, and `burst` intervals are the span, so the product fits. The sum may not where the span is
        // centuries.
        let after = spent.checked_add(cost * interval)?;
        let over = after.saturating_sub(self.span_ns);
        if over > 0 {
            let left = self.span_ns.saturating_sub(spent);
            let retry_after = Duration::from_nanos(over);
            return Some(Step {
                decision: Decision {
                    outcome: Outcome::Deny { retry_after },
                    remaining: left / interval,
                    reset_after: Duration::from_nanos(spent),
                },
                next_tat: None,
            });
        }
        Some(Step {
            decision: Decision {
                outcome: Outcome::ALLOW,
                remaining: (self.span_ns - after) / interval,
                reset_after: Duration::from_nanos(after),
            },
            next_tat: Some(now + after),
        })
    }

    /// The tat of a bucket that is full at `tat`, once `cost` is given back, that was spent at `granted_at`.
    ///
    /// What has flowed in since may have been lent to others already, who would have found the bucket full without that charge. So much is
    /// kept: the bucket never has more than if the charge had not been.
    pub(crate) fn give_back(&self, tat: u64, cost: u64, granted_at: u64, now: u64) -> u64 {
        let owed = tat - self.cells.behind(tat, cost);
        tat - owed.saturating_sub(now.saturating_sub(granted_at))
    }

    /// The tat of a bucket that is full at `tat`, once `cost` is given back, whenever that was spent. One in the past is a full bucket.
    pub(crate) fn refund(&self, tat: u64, cost: u64) -> u64 {
        self.cells.behind(tat, cost)
    }

    /// How urgent it is to remember a bucket that is full at `tat`: 0 below a quarter spent, to 3 from three quarters.
    #[inline]
    pub(crate) fn pressure(&self, tat: u64, now: u64) -> u64 {
        u64::from(quarters(tat.saturating_sub(now), self.span_ns))
    }

    /// The farthest tat that this limit can have left.
    #[inline]
    fn farthest(&self, now: u64) -> u64 {
        now.saturating_add(self.span_ns)
            .saturating_add(self.max_delay_ns)
            .saturating_add(MAX_SKEW_NS + ROUNDING_NS)
    }

    #[cold]
    fn take_over(&self, cost: u64, now: u64) -> Step {
        let mut step = self.decide_sane(now, cost, now);
        if let Some(tat) = &mut step.next_tat {
            *tat = self.cells.ahead(now, self.burst);
            step.decision.remaining = 0;
            step.decision.reset_after = Duration::from_nanos(*tat - now);
        }
        step
    }

    fn decide_sane(&self, tat: u64, cost: u64, now: u64) -> Step {
        let full_at = tat.max(now);
        let spent = self.cells.units_between(now, full_at);
        if cost > self.burst {
            return self.unspent(Outcome::Never, spent, full_at, now);
        }
        if cost == 0 {
            return self.unspent(Outcome::ALLOW, spent, full_at, now);
        }
        let room = self.burst - cost;
        let wait = if spent <= room {
            0
        } else {
            // Until the bucket holds `cost` units.
            self.cells.behind(full_at, room).saturating_sub(now)
        };
        if wait > self.max_delay_ns {
            return self.unspent(self.deny(now, wait), spent, full_at, now);
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

    /// Refuses a customer who would have to wait too long, until the wait is short enough.
    fn deny(&self, now: u64, wait: u64) -> Outcome {
        let passes_at = match self.max_delay_ns {
            0 => self.cells.earliest(now + wait),
            max_delay_ns => now + wait - max_delay_ns,
        };
        Outcome::Deny {
            retry_after: Duration::from_nanos(passes_at - now),
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
