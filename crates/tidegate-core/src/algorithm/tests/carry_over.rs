//! A changed limit holds from the next request for old keys, too: it never admits more than it would had it found nothing,
//! its promises of time hold, and nobody who waits stays refused.

use core::time::Duration;

use proptest::prelude::*;

use super::counter::Counter;
use super::operations::{Operation, Timed, moments, operations, start};
use crate::{Algorithm, Limit, Rate};

const SECOND: u64 = 1_000_000_000;
const NOW: u64 = 1_800_000_000 * SECOND;

/// Limits of one algorithm: each operation is decided by the one that its turn picks.
fn limits(algorithm: Algorithm) -> impl Strategy<Value = [Limit; 3]> {
    let window = prop_oneof![
        1..1_000u64,
        1_000..1_000_000_000_000u64,
        Just(60 * SECOND),
        Just(3_600 * SECOND)
    ];
    let one = (1..12u64, window, 0..3u64).prop_map(move |(quota, window, delay)| {
        let rate = Rate::new(quota.min(window), Duration::from_nanos(window)).unwrap();
        let delay = Duration::from_nanos(window * delay);
        match algorithm {
            Algorithm::TokenBucket => Limit::token_bucket(rate, quota).unwrap(),
            Algorithm::LeakyBucket => Limit::leaky_bucket(rate, quota, delay).unwrap(),
            Algorithm::FixedWindow => Limit::fixed_window(rate),
            Algorithm::SlidingWindow => Limit::sliding_window(rate),
            Algorithm::SlidingWindowLog => Limit::sliding_window_log(rate).unwrap(),
            Algorithm::Concurrency => Limit::concurrency(quota, rate.window()).unwrap(),
        }
    });
    proptest::array::uniform3(one)
}

fn any_algorithm() -> impl Strategy<Value = [Limit; 3]> {
    prop_oneof![
        limits(Algorithm::TokenBucket),
        limits(Algorithm::LeakyBucket),
        limits(Algorithm::FixedWindow),
        limits(Algorithm::SlidingWindow),
        limits(Algorithm::SlidingWindowLog),
        limits(Algorithm::Concurrency),
    ]
}

fn span(limit: &Limit) -> u64 {
    let fill = limit.window().or(limit.ttl()).unwrap() * 12 + limit.max_delay().unwrap_or_default();
    u64::try_from(fill.as_nanos()).unwrap()
}

proptest! {
    #[test]
    fn a_changed_limit_is_no_looser_than_a_new_one_and_keeps_its_promises(
        limits in any_algorithm(),
        turns in proptest::collection::vec(prop_oneof![8 => Just(None), 2 => (0..3usize).prop_map(Some)], 40),
        operations in operations(),
    ) {
        let operations: std::vec::Vec<Timed> = operations.into_iter().map(|timed| Timed { late: 0, ..timed }).collect();
        let mut counter = Counter::new(limits[0].clone());
        let mut newcomer = counter.clone();
        for ((now, operation), turn) in moments(&operations, NOW, 60 * SECOND).into_iter().zip(turns) {
            if let Some(turn) = turn {
                counter.limit = limits[turn].clone();
                newcomer = Counter::new(counter.limit.clone());
            }
            match operation {
                Operation::Charge { cost, hold } => {
                    let passes = counter.charge(cost, hold, now).outcome.passes();
                    prop_assert!(!passes || newcomer.charge(cost, hold, now).outcome.passes(), "looser than new");
                    promises_hold(&counter, cost, now)?;
                }
                Operation::Release { hold } => {
                    counter.release(hold);
                    newcomer.release(hold);
                }
                Operation::Refund { units } => {
                    counter.refund(units, now);
                    newcomer.refund(units, now);
                }
                Operation::Forget => counter.forget_if_fresh(now),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_limits_in_any_order_on_any_clock_stay_within_their_capacity(
        limits in proptest::collection::vec(any_algorithm(), 1..6),
        start in start(),
        operations in operations(),
    ) {
        let limits = limits.concat();
        let mut counter = Counter::new(limits[0].clone());
        for (turn, (now, operation)) in moments(&operations, start, 20 * SECOND).into_iter().enumerate() {
            counter.limit = limits[turn * 7 % limits.len()].clone();
            match operation {
                Operation::Charge { cost, hold } => {
                    let remaining = counter.charge(cost, hold, now).remaining;
                    prop_assert!(remaining <= counter.limit.capacity());
                }
                Operation::Release { hold } => counter.release(hold),
                Operation::Refund { units } => counter.refund(units, now),
                Operation::Forget => counter.forget_if_fresh(now),
            }
        }
    }
}

fn promises_hold(counter: &Counter, cost: u64, now: u64) -> Result<(), TestCaseError> {
    let Some(retry_after) = counter.retry_after(cost, now) else {
        return Ok(());
    };
    prop_assert!(retry_after > 0);
    prop_assert!(
        counter.look(cost, now + retry_after).outcome.passes(),
        "a retry is refused"
    );
    prop_assert!(
        !counter.look(cost, now + retry_after - 1).outcome.passes(),
        "an earlier retry passes"
    );
    let later = counter.look(
        counter.limit.capacity(),
        now + 2 * span(&counter.limit) + 5 * SECOND,
    );
    prop_assert!(later.outcome.passes(), "still refused after silence: {:?}", later);
    Ok(())
}

#[test]
fn a_quota_cut_in_half_holds_in_the_window_that_runs() {
    let minute = |quota| Limit::fixed_window(Rate::new(quota, Duration::from_secs(60)).unwrap());
    let mut counter = Counter::new(minute(10));
    assert!(counter.admits(6, NOW));
    counter.limit = minute(5);
    assert_eq!(
        counter.retry_after(1, NOW),
        Some(60 * SECOND - NOW % (60 * SECOND))
    );
    counter.limit = minute(10);
    assert_eq!(counter.look(0, NOW).remaining, 4, "refusals forgot nothing");
}

#[test]
fn a_shorter_window_frees_a_client_within_its_own_length() {
    let limit = |window| Limit::fixed_window(Rate::new(10, Duration::from_secs(window)).unwrap());
    let mut counter = Counter::new(limit(2_592_000));
    assert!(counter.admits(10, NOW));
    counter.limit = limit(60);
    assert!(!counter.admits(1, NOW), "the ten may all be of this minute");
    assert!(counter.admits(10, NOW + 60 * SECOND));
}

#[test]
fn a_bucket_left_empty_for_a_century_lets_one_request_pass_and_then_fills_at_the_new_rate() {
    let century = Rate::new(1, Duration::from_secs(3_155_760_000)).unwrap();
    let mut counter = Counter::new(Limit::token_bucket(century, 1).unwrap());
    assert!(counter.admits(1, NOW));
    counter.limit = Limit::token_bucket(Rate::new(1, Duration::from_secs(1)).unwrap(), 5).unwrap();
    assert!(counter.admits(1, NOW));
    assert_eq!(counter.retry_after(1, NOW), Some(SECOND));
    assert_eq!(counter.look(0, NOW).reset_after, Duration::from_secs(5));
}

#[test]
fn state_of_another_algorithm_counts_as_none() {
    let minute = Rate::new(10, Duration::from_secs(60)).unwrap();
    let mut counter = Counter::new(Limit::fixed_window(minute));
    assert!(counter.admits(10, NOW));
    counter.limit = Limit::sliding_window_log(minute).unwrap();
    assert!(counter.admits(10, NOW) && !counter.admits(1, NOW));
}
