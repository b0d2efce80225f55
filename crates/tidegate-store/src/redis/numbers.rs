//! Limits as the script counts them: whole microseconds, and nothing that a double cannot hold exactly.

use core::fmt;
use core::time::Duration;

use tidegate_core::{Algorithm, Limit, Timestamp};

/// The most units and the longest window, in microseconds: sums of them and of moments stay below 2^53, and a share of two of them
/// can be taken exactly.
pub(crate) const MOST_UNITS: u64 = (1 << 51) - 1;
const LONGEST_US: u64 = 1 << 50;

/// A limit in numbers for the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    kind: Kind,
    values: [u64; 5],
}

/// How the script counts. The number is the place in its list of kinds, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A bucket whose cells are whole microseconds: interval, burst, longest wait, span.
    Even = 1,
    /// Any other bucket: quota and window in lowest terms, burst, longest wait, span.
    Uneven = 2,
    /// Quota and window.
    FixedWindow = 3,
    /// Quota and four moments at which windows begin.
    Calendar = 4,
    /// Quota and window.
    SlidingWindow = 5,
    /// Quota and window.
    Log = 6,
    /// Slots and their time to live.
    Slots = 7,
}

impl Kind {
    /// The letter in the names of counters. Kinds that read each other's state share it.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Even | Self::Uneven => 'b',
            Self::FixedWindow | Self::Calendar => 'f',
            Self::SlidingWindow => 'w',
            Self::Log => 'l',
            Self::Slots => 'c',
        }
    }

    /// Whether the state is one short string.
    pub(crate) const fn is_string(self) -> bool {
        !matches!(self, Self::Log | Self::Slots)
    }
}

/// Why a limit cannot be counted in a shared store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncountable {
    /// A window or time to live that is not in whole microseconds.
    BelowMicroseconds,
    /// A bucket that gets more than one unit per microsecond.
    TooFast,
    /// More units than 2^51, or a bucket that takes over 35 years from empty to full, or such a window.
    TooLarge,
}

impl fmt::Display for Uncountable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BelowMicroseconds => "a shared store counts in whole microseconds",
            Self::TooFast => "a shared store counts at most one unit per microsecond",
            Self::TooLarge => "a shared store counts to 2^51 units and 35 years",
        })
    }
}

impl core::error::Error for Uncountable {}

impl Numbers {
    /// The numbers of `limit`, those of a calendar as they are around `now`.
    ///
    /// # Errors
    /// [`Uncountable`]. The same limits at every `now`, so it can be asked once, at load.
    pub fn of(limit: &Limit, now: Timestamp) -> Result<Self, Uncountable> {
        let quota = units(limit.quota())?;
        let (kind, values) = match limit.algorithm() {
            Algorithm::TokenBucket | Algorithm::LeakyBucket => bucket(limit)?,
            Algorithm::FixedWindow => match limit.window() {
                Some(window) => (Kind::FixedWindow, [quota, span(window)?, 0, 0, 0]),
                None => (Kind::Calendar, calendar(limit, quota, now)),
            },
            Algorithm::SlidingWindow => (Kind::SlidingWindow, [quota, window(limit)?, 0, 0, 0]),
            Algorithm::SlidingWindowLog => (Kind::Log, [quota, window(limit)?, 0, 0, 0]),
            Algorithm::Concurrency => {
                let ttl = span(limit.ttl().unwrap_or_default())?;
                (Kind::Slots, [quota, ttl, 0, 0, 0])
            }
        };
        Ok(Self { kind, values })
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// The six numbers in the script's list of limits.
    pub(crate) fn row(&self) -> [u64; 6] {
        let [a, b, c, d, e] = self.values;
        [self.kind as u64, a, b, c, d, e]
    }
}

fn bucket(limit: &Limit) -> Result<(Kind, [u64; 5]), Uncountable> {
    let (quota, window, burst) = (
        limit.quota(),
        window(limit)?,
        units(limit.burst().unwrap_or_default())?,
    );
    if quota > window {
        return Err(Uncountable::TooFast);
    }
    let longest_wait = limit.max_delay().unwrap_or_default().as_micros();
    let whole_span = (u128::from(burst) * u128::from(window)).div_ceil(u128::from(quota));
    if whole_span + longest_wait > u128::from(LONGEST_US) {
        return Err(Uncountable::TooLarge);
    }
    let (longest_wait, whole_span) = (in_range(longest_wait)?, in_range(whole_span)?);
    let divisor = greatest_common_divisor(quota, window);
    let (quota, window) = (quota / divisor, window / divisor);
    Ok(if quota == 1 {
        (Kind::Even, [window, burst, longest_wait, whole_span, 0])
    } else {
        (Kind::Uneven, [quota, window, burst, longest_wait, whole_span])
    })
}

/// The window before the one that holds `now`, that one, and the next: whatever the store's clock says within reason, it is in
/// one of them.
fn calendar(limit: &Limit, quota: u64, now: Timestamp) -> [u64; 5] {
    let around = |at| limit.window_at(at).unwrap_or(now..now);
    let this = around(now);
    let before = around(this.start.saturating_sub(Duration::from_nanos(1)));
    let next = around(this.end);
    let micros = |at: Timestamp| at.as_nanos() / 1_000;
    [
        quota,
        micros(before.start),
        micros(this.start),
        micros(this.end),
        micros(next.end),
    ]
}

fn window(limit: &Limit) -> Result<u64, Uncountable> {
    span(limit.window().unwrap_or_default())
}

fn units(units: u64) -> Result<u64, Uncountable> {
    if units > MOST_UNITS {
        return Err(Uncountable::TooLarge);
    }
    Ok(units)
}

fn span(span: Duration) -> Result<u64, Uncountable> {
    if !span.subsec_nanos().is_multiple_of(1_000) {
        return Err(Uncountable::BelowMicroseconds);
    }
    in_range(span.as_micros())
}

fn in_range(micros: u128) -> Result<u64, Uncountable> {
    match u64::try_from(micros) {
        Ok(micros) if micros <= LONGEST_US => Ok(micros),
        _ => Err(Uncountable::TooLarge),
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use tidegate_core::{CalendarUnit, Rate};

    use super::*;

    fn bucket_of(quota: u64, window: Duration, burst: u64) -> Result<[u64; 6], Uncountable> {
        let limit = Limit::token_bucket(Rate::new(quota, window).unwrap(), burst).unwrap();
        Numbers::of(&limit, Timestamp::EPOCH).map(|numbers| numbers.row())
    }

    #[test]
    fn a_rate_that_divides_its_window_is_an_interval() {
        assert_eq!(
            bucket_of(60, Duration::from_secs(60), 10),
            Ok([1, 1_000_000, 10, 0, 10_000_000, 0])
        );
    }

    #[test]
    fn any_other_is_quota_and_window_in_lowest_terms() {
        assert_eq!(
            bucket_of(6, Duration::from_secs(4), 5),
            Ok([2, 3, 2_000_000, 5, 0, 3_333_334])
        );
    }

    #[test]
    fn what_doubles_cannot_count_is_refused() {
        let second = Duration::from_secs(1);
        assert_eq!(bucket_of(1_000_000, second, 1), Ok([1, 1, 1, 0, 1, 0]));
        assert_eq!(bucket_of(1_000_001, second, 1), Err(Uncountable::TooFast));
        assert_eq!(
            bucket_of(1, Duration::from_nanos(1_500), 1),
            Err(Uncountable::BelowMicroseconds)
        );
        let longest = Duration::from_micros(1 << 50);
        assert!(bucket_of(1, longest, 1).is_ok());
        assert_eq!(bucket_of(1, longest, 2), Err(Uncountable::TooLarge));
        let many = |quota| Limit::fixed_window(Rate::new(quota, second).unwrap());
        let numbers = |quota| Numbers::of(&many(quota), Timestamp::EPOCH);
        assert!(numbers(MOST_UNITS).is_ok());
        assert_eq!(numbers(MOST_UNITS + 1), Err(Uncountable::TooLarge));
    }

    #[test]
    fn a_calendar_tells_the_windows_around_now() {
        let day = Limit::calendar_window(5, CalendarUnit::Day, "UTC").unwrap();
        let days = 86_400_000_000;
        let now = Timestamp::from_nanos((10 * days + 5) * 1_000);
        let row = Numbers::of(&day, now).unwrap().row();
        assert_eq!(row, [4, 5, 9 * days, 10 * days, 11 * days, 12 * days]);
    }
}
