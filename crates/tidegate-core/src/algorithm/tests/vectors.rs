//! The shared vectors, on the algorithms alone.

use core::time::Duration;

use tidegate_fixtures::{Charge, Limit as Written, Outcome as Told, Step, vectors};

use super::counter::Counter;
use crate::{Decision, Limit, Outcome, Rate};

#[test]
fn every_vector_is_answered_to_the_nanosecond() {
    for vector in vectors().unwrap() {
        let Some(limit) = limit(&vector.limit) else {
            continue;
        };
        let mut counter = Counter::new(limit);
        for (index, step) in vector.steps.iter().enumerate() {
            match step {
                Step::Charge(charge) => {
                    let decision = counter.charge(charge.cost, charge.hold, charge.at_ns);
                    assert_eq!(decision, expected(charge), "{}, step {index}", vector.name);
                }
                Step::Release { hold, .. } => counter.release(*hold),
                Step::Refund { at_ns, units } => counter.refund(*units, *at_ns),
                Step::Change { limit: written } => counter.limit = limit_of(written),
            }
        }
    }
}

fn limit_of(written: &Written) -> Limit {
    limit(written).unwrap()
}

/// `None` for calendar windows where they are not built in.
fn limit(written: &Written) -> Option<Limit> {
    let rate = |quota, window_ns| Rate::new(quota, Duration::from_nanos(window_ns)).unwrap();
    Some(match *written {
        Written::TokenBucket {
            quota,
            window_ns,
            burst,
        } => Limit::token_bucket(rate(quota, window_ns), burst).unwrap(),
        Written::LeakyBucket {
            quota,
            window_ns,
            burst,
            max_delay_ns,
        } => Limit::leaky_bucket(rate(quota, window_ns), burst, Duration::from_nanos(max_delay_ns)).unwrap(),
        Written::FixedWindow { quota, window_ns } => Limit::fixed_window(rate(quota, window_ns)),
        Written::CalendarWindow {
            quota,
            unit,
            ref zone,
        } => return calendar_window(quota, unit, zone),
        Written::SlidingWindow { quota, window_ns } => Limit::sliding_window(rate(quota, window_ns)),
        Written::SlidingWindowLog { quota, window_ns } => {
            Limit::sliding_window_log(rate(quota, window_ns)).unwrap()
        }
        Written::Concurrency { slots, ttl_ns } => {
            Limit::concurrency(slots, Duration::from_nanos(ttl_ns)).unwrap()
        }
    })
}

#[cfg(feature = "calendar")]
fn calendar_window(quota: u64, unit: tidegate_fixtures::Unit, zone: &str) -> Option<Limit> {
    let unit = match unit {
        tidegate_fixtures::Unit::Day => crate::CalendarUnit::Day,
        tidegate_fixtures::Unit::Week => crate::CalendarUnit::Week,
        tidegate_fixtures::Unit::Month => crate::CalendarUnit::Month,
    };
    Some(Limit::calendar_window(quota, unit, zone).unwrap())
}

#[cfg(not(feature = "calendar"))]
fn calendar_window(_quota: u64, _unit: tidegate_fixtures::Unit, _zone: &str) -> Option<Limit> {
    None
}

fn expected(charge: &Charge) -> Decision {
    let outcome = match charge.outcome {
        Told::Allow { delay_ns } => Outcome::Allow {
            delay: Duration::from_nanos(delay_ns),
        },
        Told::Deny { retry_after_ns } => Outcome::Deny {
            retry_after: Duration::from_nanos(retry_after_ns),
        },
        Told::Never => Outcome::Never,
    };
    Decision {
        outcome,
        remaining: charge.remaining,
        reset_after: Duration::from_nanos(charge.reset_after_ns),
    }
}
