//! When the keys at an address are fetched.

use std::time::Duration;

use tidegate_core::Timestamp;

/// The first wait after a failure; it doubles with each, up to the refresh interval.
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// How soon keys are fetched again because a token named one that is not there. Anybody can send such tokens.
pub(super) const WANTED_AFTER: Duration = Duration::from_secs(10);

/// How long an answer may say that it can be kept.
const MAX_AGE_WITHIN: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(60 * 60));

/// When one address is asked.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    asked: Option<Timestamp>,
    next: Timestamp,
    failures: u32,
}

impl Schedule {
    /// Whether it is time to ask. `wanted` says that a token named a key that is not there.
    pub(super) fn is_due(&self, now: Timestamp, wanted: bool) -> bool {
        let Some(asked) = self.asked else {
            return true;
        };
        now >= self.next || (wanted && now >= asked.saturating_add(WANTED_AFTER))
    }

    /// It was asked and answered, for as long as `max_age` if it said so.
    pub(super) fn answered(&mut self, now: Timestamp, refresh: Duration, max_age: Option<Duration>) {
        let (least, most) = MAX_AGE_WITHIN;
        let wait = max_age.map_or(refresh, |age| age.clamp(least, most));
        *self = Self {
            asked: Some(now),
            next: now.saturating_add(wait),
            failures: 0,
        };
    }

    /// It was asked and did not answer as it should.
    pub(super) fn failed(&mut self, now: Timestamp, refresh: Duration) {
        let wait = FIRST_RETRY
            .saturating_mul(1 << self.failures.min(16))
            .min(refresh);
        self.failures = self.failures.saturating_add(1);
        self.asked = Some(now);
        self.next = now.saturating_add(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFRESH: Duration = Duration::from_secs(300);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    /// The first second from `from` on at which it is due.
    fn due(schedule: &Schedule, from: u64, wanted: bool) -> u64 {
        (from..)
            .find(|second| schedule.is_due(at(*second), wanted))
            .unwrap()
    }

    #[test]
    fn keys_are_fetched_at_once_and_then_after_the_refresh_interval() {
        let mut schedule = Schedule::default();
        assert!(schedule.is_due(at(0), false));
        schedule.answered(at(100), REFRESH, None);
        assert_eq!(due(&schedule, 100, false), 400);
    }

    #[test]
    fn an_answer_says_how_long_it_can_be_kept_within_bounds() {
        let after = |age: u64| {
            let mut schedule = Schedule::default();
            schedule.answered(at(0), REFRESH, Some(Duration::from_secs(age)));
            due(&schedule, 0, false)
        };
        assert_eq!(
            [after(0), after(29), after(31), after(600), after(100_000)],
            [30, 30, 31, 600, 3600]
        );
    }

    #[test]
    fn an_unknown_key_brings_the_next_fetch_forward_but_not_too_often() {
        let mut schedule = Schedule::default();
        schedule.answered(at(100), REFRESH, None);
        assert_eq!(due(&schedule, 100, true), 110);
        schedule.answered(at(110), REFRESH, None);
        assert_eq!(due(&schedule, 110, true), 120);
    }

    #[test]
    fn failures_are_retried_ever_more_rarely() {
        let mut schedule = Schedule::default();
        let mut now = 0;
        let waits: Vec<u64> = (0..8)
            .map(|_| {
                schedule.failed(at(now), REFRESH);
                let wait = due(&schedule, now, false) - now;
                now += wait;
                wait
            })
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
        schedule.answered(at(now), REFRESH, None);
        schedule.failed(at(now), REFRESH);
        assert_eq!(due(&schedule, now, false) - now, 5);
    }
}
