//! `CL.THROTTLE`: what it asks, and its answer, number by number as redis-cell (github.com/brandur/redis-cell) gives it.
//!
//! Their interval between two tokens is a whole number of nanoseconds, rounded down; so is the one here, and the bucket is the
//! same. What they round is rounded the same way too.

use core::time::Duration;

use tidegate_core::{Cost, Decision, Limit, LimitError, Outcome, Rate};
use tidegate_policy::Consistency;

use super::reply::Replies;

const SECOND: i64 = 1_000_000_000;

/// What a command asks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Throttle {
    limit: Limit,
    cost: Cost,
    counts: Counts,
}

/// The numbers that answers are made of, in tokens and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// The most that passes at once; nothing does where it is below 1.
    capacity: i64,
    quantity: i64,
    /// From one token to the next.
    interval: i64,
    /// From an empty bucket to a full one.
    tolerance: i64,
    /// Whether tokens left are computed from time, as redis-cell does, or told by who decides.
    from_time: bool,
}

/// Why a command cannot be decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misused<'a> {
    /// It has too few or too many arguments.
    Usage,
    /// This is no whole number.
    NotANumber(&'a [u8]),
    /// Nothing flows in, or more than one token per nanosecond.
    ZeroRate,
    /// A number is negative that says how much.
    Negative,
    /// The limit is beyond what can be counted.
    TooLarge,
}

impl Throttle {
    /// What `arguments` ask, the command's name and key left out, where `consistency` says.
    pub(super) fn asked<'a>(arguments: &[&'a [u8]], consistency: Consistency) -> Result<Self, Misused<'a>> {
        let [max_burst, count, period, rest @ ..] = arguments else {
            return Err(Misused::Usage);
        };
        let quantity = match rest {
            [] => None,
            [quantity] => Some(quantity),
            _ => return Err(Misused::Usage),
        };
        let (max_burst, count, period) = (number(max_burst)?, number(count)?, number(period)?);
        let quantity = quantity.map_or(Ok(1), |quantity| number(quantity))?;
        let interval = interval(count, period)?;
        if count < 0 || quantity < 0 {
            return Err(Misused::Negative);
        }
        let capacity = max_burst.checked_add(1).ok_or(Misused::TooLarge)?;
        let tolerance = interval.checked_mul(capacity).ok_or(Misused::TooLarge)?;
        let counts = Counts {
            capacity,
            quantity,
            interval,
            tolerance,
            from_time: consistency == Consistency::Local,
        };
        let limit = counts.limit(consistency, (count, period));
        // Where nothing can pass it is only looked at what was spent.
        let units = if capacity > 0 { quantity.unsigned_abs() } else { 0 };
        Ok(Self {
            limit: limit.map_err(|_| Misused::TooLarge)?,
            cost: Cost::new(units),
            counts,
        })
    }

    pub(super) fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// Tells what was decided. Whether it passes.
    pub(super) fn answer(&self, decision: &Decision, replies: &mut Replies) -> bool {
        let Answer {
            passes,
            remaining,
            retry_after,
            reset_after,
        } = self.counts.answer(decision);
        replies.array(5);
        replies.integer(i64::from(!passes));
        replies.integer(self.counts.capacity);
        replies.integer(remaining);
        replies.integer(retry_after.map_or(-1, seconds));
        replies.integer(seconds(reset_after));
        passes
    }

    /// Tells that it passes, where nothing is known.
    pub(super) fn wave_through(&self, replies: &mut Replies) {
        replies.array(5);
        for number in [0, self.counts.capacity, 0, -1, 0] {
            replies.integer(number);
        }
    }
}

/// An answer, with its times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    passes: bool,
    remaining: i64,
    /// None if it passes, or never can.
    retry_after: Option<i64>,
    reset_after: i64,
}

impl Counts {
    /// The limit: in memory with redis-cell's interval; in a store, which counts in microseconds, with the exact rate.
    #[inline]
    fn limit(&self, consistency: Consistency, (count, period): (i64, i64)) -> Result<Limit, LimitError> {
        let burst = u64::try_from(self.capacity).unwrap_or(0).max(1);
        let rate = match consistency {
            Consistency::Local => Rate::new(1, Duration::from_nanos(self.interval.unsigned_abs())),
            Consistency::Strict => {
                Rate::new(count.unsigned_abs(), Duration::from_secs(period.unsigned_abs()))
            }
        };
        Limit::token_bucket(rate?, burst)
    }

    #[inline]
    fn answer(&self, decision: &Decision) -> Answer {
        let reset_after = nanos(decision.reset_after);
        let (passes, retry_after) = match decision.outcome {
            Outcome::Deny { retry_after } => (false, Some(nanos(retry_after))),
            Outcome::Never => (false, None),
            Outcome::Allow { .. } if self.quantity > 0 && self.capacity > 0 => (true, None),
            Outcome::Allow { .. } => self.looked(reset_after),
        };
        Answer {
            passes,
            remaining: self.remaining(decision, reset_after),
            retry_after,
            reset_after,
        }
    }

    /// What is said of a bucket that is only looked at: it may owe more than this limit lends.
    fn looked(&self, reset_after: i64) -> (bool, Option<i64>) {
        let increment = self.interval.saturating_mul(self.quantity);
        let over = reset_after
            .saturating_add(increment)
            .saturating_sub(self.tolerance);
        let may_pass_later = self.quantity <= self.capacity;
        match over {
            ..=0 => (true, None),
            _ => (false, may_pass_later.then_some(over)),
        }
    }

    /// Tokens left. In memory divided as redis-cell divides, microseconds by microseconds; where it would divide by zero, by nanoseconds.
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the same conversions give the same numbers"
    )]
    fn remaining(&self, decision: &Decision, reset_after: i64) -> i64 {
        if !self.from_time {
            let is_open = self.capacity > 0;
            return i64::try_from(decision.remaining).map_or(0, |left| if is_open { left } else { 0 });
        }
        let left = self.tolerance.saturating_sub(reset_after);
        match self.interval / 1_000 {
            _ if left <= -self.interval => 0,
            0 => left / self.interval,
            interval => ((left / 1_000) as f64 / interval as f64) as i64,
        }
    }
}

/// From one token to the next where `count` come in `period` seconds, rounded as redis-cell rounds.
#[inline]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the same conversions give the same numbers"
)]
fn interval<'a>(count: i64, period: i64) -> Result<i64, Misused<'a>> {
    if count == 0 || period == 0 {
        return Err(Misused::ZeroRate);
    }
    if count < 0 || period < 0 {
        return Err(Misused::Negative);
    }
    let period = period.checked_mul(SECOND).ok_or(Misused::TooLarge)?;
    match (period as f64 / count as f64) as i64 {
        0 => Err(Misused::ZeroRate),
        interval => Ok(interval),
    }
}

/// Whole seconds: a part of one counts as one, if it is a millisecond or more.
#[inline]
fn seconds(nanos: i64) -> i64 {
    nanos / SECOND + i64::from(nanos % SECOND >= 1_000_000)
}

#[inline]
fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[inline]
fn number(text: &[u8]) -> Result<i64, Misused<'_>> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    parsed.ok_or(Misused::NotANumber(text))
}

impl Misused<'_> {
    pub(super) fn tell(&self, replies: &mut Replies) {
        let text = match self {
            Self::Usage => {
                &b"Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"[..]
            }
            Self::NotANumber(text) => {
                return replies.error(&[b"Cell error: Couldn't parse as integer: ", *text].concat());
            }
            Self::ZeroRate => b"Zero rates are not supported",
            Self::Negative => b"Negative numbers are not supported",
            Self::TooLarge => b"Limits that take centuries are not supported",
        };
        replies.error(&[b"Cell error: ", text].concat());
    }
}

#[cfg(test)]
mod tests;
