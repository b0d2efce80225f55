//! The vectors that every algorithm, backend and door answers the same way.

use core::time::Duration;

use tidegate_core::{
    CalendarUnit, Charge, Cost, Decision, HoldId, Limit, LimitError, Outcome, Rate, Timestamp,
};
use tidegate_fixtures as fixtures;
use tidegate_fixtures::{Resolution, Step, Vector};

use super::{Subject, ask_one, charge, costing, refund};
use crate::Store;

/// Runs the vectors of `fixtures/vectors` that the subject's resolution can tell.
pub async fn shared_vectors_are_answered_to_the_nanosecond(subject: &impl Subject) {
    let vectors = fixtures::vectors().expect("the vectors can be read");
    for vector in &vectors {
        if subject.resolution() == Resolution::Nanoseconds || vector.resolution == Resolution::Microseconds {
            run(subject, vector).await;
        }
    }
}

async fn run(subject: &impl Subject, vector: &Vector) {
    let key = subject.keys().key(vector.name.as_bytes());
    let mut limit = built(&vector.limit).expect("a legal limit");
    for (number, step) in vector.steps.iter().enumerate() {
        match step {
            Step::Charge(wanted) => {
                let asked = Charge {
                    cost: Cost::new(wanted.cost),
                    hold: HoldId(wanted.hold),
                    ..charge(key, &limit)
                };
                let decision = ask_one(subject, asked, Timestamp::from_nanos(wanted.at_ns)).await;
                assert_eq!(decision, answer(wanted), "step {number} of: {}", vector.name);
            }
            Step::Release { at_ns, hold } => {
                let now = Timestamp::from_nanos(*at_ns);
                subject.set_time(now).await;
                let released = subject.store().release(key, HoldId(*hold), now).await;
                released.expect("the store releases");
            }
            Step::Refund { at_ns, units } => {
                let now = Timestamp::from_nanos(*at_ns);
                refund(subject, &[costing(*units, charge(key, &limit))], now).await;
            }
            Step::Change { limit: changed } => limit = built(changed).expect("a legal limit"),
        }
    }
}

fn answer(wanted: &fixtures::Charge) -> Decision {
    Decision {
        outcome: match wanted.outcome {
            fixtures::Outcome::Allow { delay_ns } => Outcome::Allow {
                delay: Duration::from_nanos(delay_ns),
            },
            fixtures::Outcome::Deny { retry_after_ns } => Outcome::Deny {
                retry_after: Duration::from_nanos(retry_after_ns),
            },
            fixtures::Outcome::Never => Outcome::Never,
        },
        remaining: wanted.remaining,
        reset_after: Duration::from_nanos(wanted.reset_after_ns),
    }
}

fn built(limit: &fixtures::Limit) -> Result<Limit, LimitError> {
    use fixtures::Limit as Written;
    let rate = |quota: u64, window_ns: u64| Rate::new(quota, Duration::from_nanos(window_ns));
    match limit {
        &Written::TokenBucket {
            quota,
            window_ns,
            burst,
        } => Limit::token_bucket(rate(quota, window_ns)?, burst),
        &Written::LeakyBucket {
            quota,
            window_ns,
            burst,
            max_delay_ns,
        } => Limit::leaky_bucket(rate(quota, window_ns)?, burst, Duration::from_nanos(max_delay_ns)),
        &Written::FixedWindow { quota, window_ns } => Ok(Limit::fixed_window(rate(quota, window_ns)?)),
        &Written::SlidingWindow { quota, window_ns } => Ok(Limit::sliding_window(rate(quota, window_ns)?)),
        &Written::SlidingWindowLog { quota, window_ns } => Limit::sliding_window_log(rate(quota, window_ns)?),
        &Written::Concurrency { slots, ttl_ns } => Limit::concurrency(slots, Duration::from_nanos(ttl_ns)),
        Written::CalendarWindow { quota, unit, zone } => {
            Limit::calendar_window(*quota, calendar(*unit), zone)
        }
    }
}

const fn calendar(unit: fixtures::Unit) -> CalendarUnit {
    match unit {
        fixtures::Unit::Day => CalendarUnit::Day,
        fixtures::Unit::Week => CalendarUnit::Week,
        fixtures::Unit::Month => CalendarUnit::Month,
    }
}
