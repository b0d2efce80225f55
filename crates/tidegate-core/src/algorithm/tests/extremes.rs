//! The ends of every range.

use core::time::Duration;
use std::string::ToString;
use std::vec::Vec;

use super::counter::Counter;
use crate::algorithm::{concurrency::MAX_SLOTS, sliding_window_log::MAX_LOG_QUOTA};
use crate::{Decision, Limit, LimitError, Outcome, Rate, Timestamp};

const SECOND: u64 = 1_000_000_000;
const NOW: u64 = 1_800_000_000 * SECOND;
const CENTURY: Duration = Duration::from_secs(3_155_760_000);
const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

fn rate(quota: u64, window: Duration) -> Rate {
    Rate::new(quota, window).unwrap()
}

fn one_of_each(quota: u64, window: Duration) -> Vec<Limit> {
    [
        Limit::token_bucket(rate(quota, window), quota),
        Limit::leaky_bucket(rate(quota, window), quota, Duration::ZERO),
        Ok(Limit::fixed_window(rate(quota, window))),
        Ok(Limit::sliding_window(rate(quota, window))),
        Limit::sliding_window_log(rate(quota, window)),
        Limit::concurrency(quota, window),
    ]
    .into_iter()
    .map(Result::unwrap)
    .collect()
}

#[test]
fn a_cost_above_the_capacity_can_never_pass_and_spends_nothing() {
    for limit in one_of_each(10, Duration::from_secs(1)) {
        let mut counter = Counter::new(limit);
        assert!(counter.admits(3, NOW));
        for cost in [11, u64::MAX] {
            let decision = counter.charge(cost, 0, NOW);
            assert_eq!(
                (decision.outcome, decision.remaining),
                (Outcome::Never, 7),
                "{counter:?}"
            );
        }
        assert!(counter.admits(7, NOW) && !counter.admits(1, NOW), "{counter:?}");
    }
}

#[test]
fn looking_at_a_key_never_used_shows_all_of_it_and_nothing_to_wait_for() {
    for limit in one_of_each(10, Duration::from_secs(1)) {
        let untouched = Decision {
            outcome: Outcome::ALLOW,
            remaining: 10,
            reset_after: Duration::ZERO,
        };
        assert_eq!(Counter::new(limit.clone()).look(0, NOW), untouched, "{limit:?}");
    }
}

#[test]
fn one_per_century_is_one_per_century() {
    for limit in one_of_each(1, CENTURY) {
        let mut counter = Counter::new(limit);
        let now = 0;
        assert!(counter.admits(1, now), "{counter:?}");
        let retry_after = counter.retry_after(1, now + SECOND).unwrap();
        assert!(!counter.admits(1, now + SECOND + retry_after - 1), "{counter:?}");
        assert!(counter.admits(1, now + SECOND + retry_after), "{counter:?}");
    }
}

#[test]
fn a_billion_per_second_is_one_per_nanosecond() {
    let billion = rate(SECOND, Duration::from_secs(1));
    let mut counter = Counter::new(Limit::token_bucket(billion, 1).unwrap());
    for now in NOW..NOW + 100 {
        assert!(counter.admits(1, now) && !counter.admits(1, now));
    }
    let more = rate(SECOND + 1, Duration::from_secs(1));
    assert_eq!(Limit::token_bucket(more, 1), Err(LimitError::TooFast));
}

#[test]
fn the_largest_quota_counts_in_windows_and_is_refused_where_it_cannot_be_kept() {
    for window in [Duration::from_nanos(1), Duration::from_secs(1), LONGEST] {
        let rate = rate(u64::MAX, window);
        for limit in [Limit::fixed_window(rate), Limit::sliding_window(rate)] {
            let mut counter = Counter::new(limit);
            assert!(counter.admits(u64::MAX - 1, NOW));
            assert!(counter.admits(1, NOW) && !counter.admits(1, NOW), "{counter:?}");
            assert!(!counter.admits(u64::MAX, NOW), "{counter:?}");
            let retry_at = NOW + counter.retry_after(u64::MAX, NOW).unwrap();
            assert!(
                retry_at > i64::MAX as u64 || counter.admits(u64::MAX, retry_at),
                "{counter:?}"
            );
        }
        assert_eq!(Limit::token_bucket(rate, 1), Err(LimitError::TooFast));
        assert_eq!(Limit::sliding_window_log(rate), Err(LimitError::LogTooLong));
    }
}

#[test]
fn a_bucket_must_fill_within_the_time_that_can_be_told() {
    let slow = rate(1, LONGEST);
    assert_eq!(Limit::token_bucket(slow, 1), Err(LimitError::SpanTooLong));
    assert_eq!(
        Limit::token_bucket(rate(1, CENTURY), u64::MAX),
        Err(LimitError::SpanTooLong)
    );
    assert_eq!(
        Limit::leaky_bucket(rate(1, CENTURY), 1, Duration::MAX),
        Err(LimitError::SpanTooLong)
    );
    assert!(Limit::token_bucket(rate(SECOND, Duration::from_secs(1)), i64::MAX as u64 - 2).is_ok());
}

#[test]
fn every_algorithm_works_at_the_end_of_time() {
    let end = Timestamp::MAX.as_nanos();
    for window in [
        Duration::from_secs(1),
        CENTURY,
        Duration::from_nanos(i64::MAX as u64 - 2),
    ] {
        for quota in [1, 7] {
            for limit in one_of_each(1, window) {
                let mut counter = Counter::new(limit);
                for now in [end - 1, end, end, 0] {
                    counter.charge(quota, 0, now);
                    counter.forget_if_fresh(now);
                }
            }
        }
    }
    for limit in one_of_each(2, Duration::from_secs(1)) {
        let mut counter = Counter::new(limit);
        assert!(counter.admits(2, end) && !counter.admits(1, end), "{counter:?}");
    }
}

#[test]
fn a_clock_that_was_years_ahead_for_a_moment_does_not_lock_a_key_for_years() {
    for limit in one_of_each(2, Duration::from_secs(1)) {
        let mut counter = Counter::new(limit);
        assert!(counter.admits(2, NOW + 1_000_000_000 * SECOND));
        assert!(counter.admits(1, NOW), "{counter:?}");
    }
}

#[test]
fn a_late_reader_of_the_clock_finds_no_more_than_is_there() {
    for limit in one_of_each(10, Duration::from_secs(1)) {
        let mut counter = Counter::new(limit);
        assert!(counter.admits(10, NOW));
        for late in [1, SECOND, 5 * SECOND] {
            counter.forget_if_fresh(NOW);
            assert!(!counter.admits(1, NOW - late), "{late} ns late: {counter:?}");
        }
    }
}

#[test]
fn a_reader_late_by_all_of_the_skew_finds_no_more_than_is_there_where_cells_are_uneven() {
    // Seven cells of 142,857,142 or one more: this moment is in the one more, and counts as the next.
    let now = NOW + 142_857_142;
    let mut counter = Counter::new(Limit::token_bucket(rate(7, Duration::from_secs(1)), 7).unwrap());
    assert!(counter.admits(7, now));
    assert!(!counter.admits(1, now - 5 * SECOND), "{counter:?}");
}

#[test]
fn state_is_kept_until_the_latest_reader_of_the_clock_no_longer_needs_it() {
    for limit in one_of_each(10, Duration::from_secs(1)) {
        let mut counter = Counter::new(limit);
        let last = NOW + SECOND - 1;
        assert!(counter.admits(10, last));
        counter.forget_if_fresh(last + SECOND);
        assert!(!counter.admits(1, last - 4 * SECOND), "{counter:?}");
        counter.forget_if_fresh(last + 8 * SECOND);
        assert_eq!(counter, Counter::new(counter.limit.clone()), "nothing is left");
    }
}

#[test]
fn a_log_at_its_largest_takes_a_bounded_place_and_gives_it_back() {
    let limit = Limit::sliding_window_log(rate(MAX_LOG_QUOTA, Duration::from_secs(1))).unwrap();
    let mut counter = Counter::new(limit);
    assert!(counter.admits(MAX_LOG_QUOTA / 2, NOW));
    assert!(
        counter.heap_bytes() <= 64,
        "one moment is one entry, however much it spends"
    );
    for now in NOW + 1..=NOW + MAX_LOG_QUOTA / 2 {
        assert!(counter.admits(1, now));
    }
    assert!(!counter.admits(1, NOW + MAX_LOG_QUOTA));
    assert!(counter.heap_bytes() as u64 <= 32 * MAX_LOG_QUOTA);
    assert!(counter.admits(1, NOW + 2 * SECOND));
    assert!(
        counter.heap_bytes() <= 64,
        "{} bytes for one entry",
        counter.heap_bytes()
    );
}

#[test]
fn a_slot_given_back_is_free_at_once_and_twice_is_once() {
    let mut counter = Counter::new(Limit::concurrency(2, Duration::from_secs(60)).unwrap());
    assert!(counter.charge(1, 7, NOW).outcome.passes());
    assert!(counter.charge(1, 8, NOW).outcome.passes());
    assert_eq!(counter.retry_after(1, NOW + 1), Some(60 * SECOND - 1));
    counter.release(7);
    counter.release(7);
    assert_eq!(counter.look(0, NOW).remaining, 1);
    counter.release(9);
    assert_eq!(counter.look(0, NOW).remaining, 1);
    counter.release(8);
    counter.forget_if_fresh(NOW);
    assert_eq!(
        counter,
        Counter::new(counter.limit.clone()),
        "empty slots are no state"
    );
}

#[test]
fn deciding_on_windows_and_buckets_allocates_nothing() {
    let mut limits = one_of_each(10, Duration::from_secs(1));
    #[cfg(feature = "calendar")]
    limits.push(Limit::calendar_window(10, crate::CalendarUnit::Month, "America/New_York").unwrap());
    for limit in limits {
        let mut counter = Counter::new(limit);
        counter.charge(1, 0, NOW);
        let allocated = allocation_counter::measure(|| {
            counter.look(1, NOW + 1);
            counter.look(10, NOW + 1);
        });
        assert_eq!(allocated.count_total, 0, "{counter:?}");
    }
}

#[test]
fn limits_that_make_no_sense_cannot_be_built_and_say_why() {
    let ten = rate(10, Duration::from_secs(1));
    let second = Duration::from_secs(1);
    let refused = [
        (Rate::new(0, second).err(), "the quota must be at least 1"),
        (
            Rate::new(1, Duration::ZERO).err(),
            "the window must be longer than 0",
        ),
        (
            Rate::new(1, Duration::MAX).err(),
            "the window must be at most 292 years",
        ),
        (Limit::token_bucket(ten, 0).err(), "the burst must be at least 1"),
        (
            Limit::concurrency(0, second).err(),
            "the slots must be at least 1",
        ),
        (
            Limit::concurrency(MAX_SLOTS + 1, second).err(),
            "the slots must be at most 10000",
        ),
        (
            Limit::concurrency(1, Duration::ZERO).err(),
            "the ttl must be longer than 0",
        ),
        (
            Limit::concurrency(1, Duration::MAX).err(),
            "the ttl must be at most 292 years",
        ),
        (
            Limit::sliding_window_log(rate(MAX_LOG_QUOTA + 1, second)).err(),
            "a sliding_window_log remembers each unit, so its quota is at most 10000: use sliding_window for more",
        ),
    ];
    for (error, text) in refused {
        assert_eq!(error.unwrap().to_string(), text);
    }
    assert!(Limit::concurrency(MAX_SLOTS, LONGEST).is_ok());
    assert!(Limit::sliding_window_log(rate(MAX_LOG_QUOTA, LONGEST)).is_ok());
}
