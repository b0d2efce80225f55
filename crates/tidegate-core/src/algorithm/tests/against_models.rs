//! The same operations on an algorithm and on its model: every field of every decision must be what the model says.

use core::time::Duration;
use std::vec::Vec;

use proptest::prelude::*;

use super::counter::Counter;
use super::models::{self, First, Model};
use super::operations::{Operation, Timed, moments, operations, start, window};
use crate::{Decision, Limit, Outcome, Rate};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_token_bucket_is_the_exact_bucket_on_the_lattice(
        quota in 1..40u64, window in window(), burst in 1..12u64, start in start(), operations in operations(),
    ) {
        let quota = quota.min(window);
        let limit = Limit::token_bucket(rate(quota, window), burst);
        prop_assume!(limit.is_ok());
        let model = models::Bucket::new(quota, window, burst, 0);
        agree(limit.unwrap(), model, &moments(&operations, start, window / quota * burst))?;
    }

    #[test]
    fn a_leaky_bucket_is_the_exact_bucket_with_a_queue(
        quota in 1..40u64, window in window(), burst in 1..12u64, delay in 0..40u64, start in start(), operations in operations(),
    ) {
        let quota = quota.min(window);
        let max_delay = window / quota / 8 * delay;
        let limit = Limit::leaky_bucket(rate(quota, window), burst, Duration::from_nanos(max_delay));
        prop_assume!(limit.is_ok());
        let model = models::Bucket::new(quota, window, burst, max_delay);
        agree(limit.unwrap(), model, &moments(&operations, start, window / quota * burst))?;
    }

}

proptest! {
    #[test]
    fn a_fixed_window_counts_the_spendings_of_its_window(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let model = models::FixedWindow::new(quota, |at| at / window);
        agree(Limit::fixed_window(rate(quota, window)), model, &moments(&operations, start, window))?;
    }

    #[test]
    fn a_sliding_window_is_its_exact_estimate(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let model = models::SlidingWindow { quota, window, spent: Vec::new() };
        agree(Limit::sliding_window(rate(quota, window)), model, &moments(&operations, start, window))?;
    }

    #[test]
    fn a_log_counts_the_spendings_of_the_last_window(
        quota in 1..12u64, window in window(), start in start(), operations in operations(),
    ) {
        let limit = Limit::sliding_window_log(rate(quota, window)).unwrap();
        let model = models::Recent { capacity: quota, span: window, spent: Vec::new(), first: First::Latest };
        let operations: Vec<Timed> = operations
            .into_iter()
            .filter(|timed| !matches!(timed.operation, Operation::Release { .. }))
            .collect();
        agree(limit, model, &moments(&operations, start, window))?;
    }

    #[test]
    fn slots_are_in_use_until_released_or_too_old(
        slots in 1..12u64, ttl in window(), start in start(), operations in operations(),
    ) {
        let limit = Limit::concurrency(slots, Duration::from_nanos(ttl)).unwrap();
        let model = models::Recent { capacity: slots, span: ttl, spent: Vec::new(), first: First::Earliest };
        agree(limit, model, &moments(&operations, start, ttl))?;
    }
}

fn rate(quota: u64, window: u64) -> Rate {
    Rate::new(quota, Duration::from_nanos(window)).unwrap()
}

/// Runs the operations on both.
pub(super) fn agree(
    limit: Limit,
    mut model: impl Model,
    operations: &[(u64, Operation)],
) -> Result<(), TestCaseError> {
    // A bucket's `reset_after` may be rounded up by a nanosecond. No `retry_after` is.
    let slack = u64::from(limit.burst().is_some());
    let mut counter = Counter::new(limit);
    for &(now, ref operation) in operations {
        match *operation {
            Operation::Charge { cost, hold } => {
                let decision = counter.charge(cost, hold, now);
                check_outcome(&counter.limit, decision, &model, cost, now)?;
                if cost > 0 && decision.outcome.passes() {
                    model.admit(cost, hold, now);
                }
                check_remaining(&counter.limit, decision, &model, now)?;
                check_reset(decision, &model, now, slack)?;
            }
            Operation::Release { hold } => {
                counter.release(hold);
                model.release(hold);
            }
            Operation::Refund { units } => {
                counter.refund(units, now);
                model.refund(units, now);
            }
            Operation::Forget => counter.forget_if_fresh(now),
        }
    }
    Ok(())
}

fn check_outcome(
    limit: &Limit,
    decision: Decision,
    model: &impl Model,
    cost: u64,
    now: u64,
) -> Result<(), TestCaseError> {
    let expected = if cost > limit.capacity() {
        Outcome::Never
    } else if cost == 0 {
        Outcome::ALLOW
    } else if let Some(wait) = model.wait(cost, now) {
        Outcome::Allow {
            delay: Duration::from_nanos(wait),
        }
    } else {
        let Outcome::Deny { retry_after } = decision.outcome else {
            return Err(TestCaseError::fail(std::format!(
                "{decision:?} at {now}, the model refuses {cost}"
            )));
        };
        let retry_at = now + nanos(retry_after);
        prop_assert!(
            model.wait(cost, retry_at).is_some(),
            "a retry after {:?} is refused",
            retry_after
        );
        prop_assert!(
            model.wait(cost, retry_at - 1).is_none(),
            "a retry before {:?} passes",
            retry_after
        );
        decision.outcome
    };
    prop_assert_eq!(decision.outcome, expected, "cost {} at {}", cost, now);
    Ok(())
}

fn check_remaining(
    limit: &Limit,
    decision: Decision,
    model: &impl Model,
    now: u64,
) -> Result<(), TestCaseError> {
    let remaining = decision.remaining;
    prop_assert!(
        remaining == 0 || model.wait(remaining, now) == Some(0),
        "{} do not remain",
        remaining
    );
    let more = remaining + 1;
    prop_assert!(
        more > limit.capacity() || model.wait(more, now) != Some(0),
        "more than {} remain",
        remaining
    );
    Ok(())
}

fn check_reset(decision: Decision, model: &impl Model, now: u64, slack: u64) -> Result<(), TestCaseError> {
    let after = nanos(decision.reset_after);
    prop_assert!(
        model.untouched(now + after),
        "not reset after {} at {}",
        after,
        now
    );
    let too_early = after <= slack || !model.untouched(now + after - 1 - slack);
    prop_assert!(too_early, "reset before {} at {}", after, now);
    Ok(())
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}
