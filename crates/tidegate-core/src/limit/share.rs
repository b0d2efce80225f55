//! A part of a limit, for one of several that count apart.

use super::{Algorithm, Limit, LimitError, Rate, Shape};
use crate::algorithm::fixed_window::{FixedWindow, Grid};
use crate::algorithm::tally::Tally;

/// What shares are counted in.
const WHOLE: u64 = 1_000_000;

impl Limit {
    /// The same limit with so many `millionths` of its quota (its slots) and of its burst, each rounded down and at least 1. Windows and
    /// waits stay as they are. More than a million is the whole.
    ///
    /// # Errors
    /// [`LimitError::SpanTooLong`]: of a bucket so slow that rounding takes it beyond what can be counted.
    pub fn share(&self, millionths: u32) -> Result<Self, LimitError> {
        let part = |units| part(units, millionths);
        let rate = |rate: Rate| Rate::new(part(rate.quota()), rate.window());
        match &self.shape {
            Shape::Bucket(bucket) => {
                let (rate, burst) = (rate(bucket.rate())?, part(bucket.burst()));
                match self.algorithm {
                    Algorithm::LeakyBucket => Self::leaky_bucket(rate, burst, bucket.max_delay()),
                    _ => Self::token_bucket(rate, burst),
                }
            }
            Shape::Tally(Tally::FixedWindow(fixed)) => {
                let quota = part(fixed.quota());
                let window = match fixed.grid() {
                    Grid::Even { window_ns } => {
                        let window = core::time::Duration::from_nanos(*window_ns);
                        FixedWindow::even(Rate::new(quota, window)?)
                    }
                    #[cfg(feature = "calendar")]
                    Grid::Calendar(calendar) => FixedWindow::calendar(quota, calendar.clone()),
                };
                Ok(Self::tally(Algorithm::FixedWindow, Tally::FixedWindow(window)))
            }
            Shape::Tally(Tally::SlidingWindow(sliding)) => Ok(Self::sliding_window(rate(sliding.rate())?)),
            Shape::Tally(Tally::SlidingWindowLog(log)) => Self::sliding_window_log(rate(log.rate())?),
            Shape::Tally(Tally::Concurrency(slots)) => Self::concurrency(part(slots.slots()), slots.ttl()),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "at most `units`")]
fn part(units: u64, millionths: u32) -> u64 {
    let millionths = u64::from(millionths).min(WHOLE);
    let part = u128::from(units) * u128::from(millionths) / u128::from(WHOLE);
    (part as u64).max(1)
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn rate(quota: u64) -> Rate {
        Rate::new(quota, Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn a_share_has_its_part_of_quota_burst_and_slots_and_the_same_times() {
        let wait = Duration::from_secs(2);
        let all = [10, 3].map(|parts| {
            [
                Limit::token_bucket(rate(6 * parts), 2 * parts).unwrap(),
                Limit::leaky_bucket(rate(6 * parts), 2 * parts, wait).unwrap(),
                Limit::fixed_window(rate(6 * parts)),
                Limit::sliding_window(rate(6 * parts)),
                Limit::sliding_window_log(rate(6 * parts)).unwrap(),
                Limit::concurrency(6 * parts, wait).unwrap(),
            ]
        });
        let [whole, part] = all;
        for (whole, part) in whole.iter().zip(part) {
            assert_eq!(whole.share(300_000), Ok(part));
            assert_eq!(whole.share(1_000_000), Ok(whole.clone()));
            assert_eq!(whole.share(u32::MAX), Ok(whole.clone()));
        }
    }

    #[cfg(feature = "calendar")]
    #[test]
    fn a_share_of_a_calendar_window_keeps_to_the_calendar() {
        let day = |quota| Limit::calendar_window(quota, crate::CalendarUnit::Day, "Europe/Berlin").unwrap();
        assert_eq!(day(1000).share(1), Ok(day(1)));
        assert_eq!(day(1000).share(250_000), Ok(day(250)));
    }

    #[test]
    fn a_share_is_rounded_down_and_never_nothing() {
        let bucket = Limit::token_bucket(rate(7), 5).unwrap();
        let half = bucket.share(500_000).unwrap();
        assert_eq!((half.quota(), half.burst()), (3, Some(2)));
        let least = bucket.share(0).unwrap();
        assert_eq!((least.quota(), least.burst()), (1, Some(1)));
        assert_eq!(part(u64::MAX, 1_000_000), u64::MAX);
        assert_eq!(part(u64::MAX, 1), u64::MAX / 1_000_000);
    }
}
