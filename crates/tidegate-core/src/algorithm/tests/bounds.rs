//! What each algorithm never exceeds, in windows of any length, against greedy clients with random timing.

use core::time::Duration;
use std::vec::Vec;

use num_rational::BigRational;
use proptest::prelude::*;

use super::counter::Counter;
use super::models::{self, First, Model, rational};
use super::operations::{Operation, moments, operations, start, window};
use crate::{Limit, Outcome, Rate};

proptest! {
    #[test]
    fn no_span_admits_more_than_the_burst_and_what_flows_in(
        quota in 1..40u64, window in window(), burst in 1..12u64, delay in 0..40u64, start in start(), operations in operations(),
    ) {
        let quota = quota.min(window);
        let delay = Duration::from_nanos(window / quota / 8 * delay);
        let limit = Limit::leaky_bucket(rate(quota, window), burst, delay);
        prop_assume!(limit.is_ok());
        let admitted = greedy(limit.unwrap(), &moments(&operations, start, window / quota * burst));
        let flow = rational(quota) / rational(window);
        for (from, units, length) in spans(&admitted) {
            let bound = rational(burst) + &flow * rational(length + 2);
            prop_assert!(rational(units) <= bound, "{} units in {} ns from {}", units, length, from);
        }
    }

    #[test]
    fn a_fixed_window_admits_its_quota_per_window_and_twice_that_across_two(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let admitted = greedy(Limit::fixed_window(rate(quota, window)), &moments(&operations, start, window));
        for (from, units, length) in spans(&admitted) {
            prop_assert!(length >= window || units <= 2 * quota);
            prop_assert!(from / window != (from + length) / window || units <= quota);
        }
    }

    #[test]
    fn a_sliding_window_admits_less_than_twice_its_quota_in_any_window(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let admitted = greedy(Limit::sliding_window(rate(quota, window)), &moments(&operations, start, window));
        for (from, units, length) in spans(&admitted) {
            prop_assert!(length >= window || units < 2 * quota, "{} units in {} ns from {}", units, length, from);
        }
    }

    #[test]
    fn a_log_admits_its_quota_in_any_window(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let limit = Limit::sliding_window_log(rate(quota, window)).unwrap();
        let admitted = greedy(limit, &moments(&operations, start, window));
        for (from, units, length) in spans(&admitted) {
            prop_assert!(length >= window || units <= quota, "{} units in {} ns from {}", units, length, from);
        }
    }

    #[test]
    fn no_more_slots_are_in_use_than_there_are(
        slots in 1..12u64, ttl in window(), start in start(), operations in operations(),
    ) {
        let mut counter = Counter::new(Limit::concurrency(slots, Duration::from_nanos(ttl)).unwrap());
        let mut in_use = models::Recent { capacity: slots, span: ttl, spent: Vec::new(), first: First::Earliest };
        for (now, operation) in moments(&operations, start, ttl) {
            match operation {
                Operation::Charge { cost, hold } => {
                    if counter.charge(cost, hold, now).outcome.passes() && cost > 0 {
                        in_use.admit(cost, hold, now);
                    }
                }
                Operation::Release { hold } => {
                    counter.release(hold);
                    in_use.release(hold);
                }
                Operation::Refund { units } => {
                    counter.refund(units, now);
                    in_use.refund(units, now);
                }
                Operation::Forget => counter.forget_if_fresh(now),
            }
            prop_assert!(in_use.used(now) <= slots);
        }
    }
}

#[test]
fn a_sliding_window_reaches_its_bound_less_one() {
    let mut counter = Counter::new(Limit::sliding_window(rate(100, 1_000)));
    let mut admitted = 0;
    for now in (999..1_999).chain([1_998]) {
        while counter.admits(1, now) {
            admitted += 1;
        }
    }
    assert_eq!(
        admitted, 199,
        "100 at the end of a window, 99 more before 1,000 ns have passed"
    );
}

#[test]
fn a_bucket_may_count_a_moment_a_nanosecond_early_and_never_two() {
    // Cells of 8/3 ns begin at 0, 3, 6, 8, 11. At 10 the last has begun, one early; at 6 one began 2/3 late.
    // So 10 units pass in 4 ns: more than 8 + 3/8 × (4 + 1), less than 8 + 3/8 × (4 + 2).
    let mut counter = Counter::new(Limit::token_bucket(rate(6, 16), 8).unwrap());
    assert!(counter.admits(8, 6) && !counter.admits(2, 9));
    assert!(counter.admits(2, 10));
    assert!(!counter.admits(1, 10));
}

#[test]
fn rates_that_do_not_divide_a_second_do_not_drift_in_a_day() {
    const SECOND: u64 = 1_000_000_000;
    for quota in [3, 7, 300_000_007] {
        let burst = quota * 600;
        let mut counter = Counter::new(Limit::token_bucket(rate(quota, SECOND), burst).unwrap());
        let model = models::Bucket::new(quota, SECOND, burst, 0);
        let exact = |at: BigRational| rational(burst) + at * rational(quota) / rational(SECOND);
        let (mut now, mut total) = (0, 0);
        while now < 86_400 * SECOND {
            let left = counter.look(0, now).remaining;
            assert!(left == 0 || counter.admits(left, now));
            total += left;
            assert_eq!(
                rational(total),
                exact(model.lattice(now)).floor(),
                "{quota} per second at {now}"
            );
            assert!(rational(total) <= exact(rational(now + 1)));
            now += 1 + (now.wrapping_mul(2_862_933_555_777_941) >> 20) % (599 * SECOND);
        }
    }
}

fn rate(quota: u64, window: u64) -> Rate {
    Rate::new(quota, Duration::from_nanos(window)).unwrap()
}

/// The moments at which units went on their way, and how many. At every second moment the client takes all there is.
fn greedy(limit: Limit, operations: &[(u64, Operation)]) -> Vec<(u64, u64)> {
    let windowed = !matches!(limit.algorithm(), crate::Algorithm::LeakyBucket);
    let mut counter = Counter::new(limit);
    let mut admitted: Vec<(u64, u64)> = Vec::new();
    let mut clock = 0;
    for &(now, ref operation) in operations {
        let Operation::Charge { cost, hold } = *operation else {
            counter.forget_if_fresh(now);
            continue;
        };
        let cost = if hold % 2 == 0 {
            counter.look(0, now).remaining
        } else {
            cost
        };
        if let Outcome::Allow { delay } = counter.charge(cost, hold, now).outcome
            && cost > 0
        {
            // Windows work on the key's clock.
            clock = if windowed { now.max(clock) } else { now };
            admitted.push((clock + u64::try_from(delay.as_nanos()).unwrap(), cost));
        }
    }
    admitted.sort_unstable();
    admitted
}

/// All spans from one admission to another: begin, units in it (both ends included), length.
fn spans(admitted: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..admitted.len()).flat_map(move |first| {
        let from = admitted[first].0;
        let mut units = 0;
        admitted[first..].iter().map(move |&(at, cost)| {
            units += cost;
            (from, units, at - from)
        })
    })
}
