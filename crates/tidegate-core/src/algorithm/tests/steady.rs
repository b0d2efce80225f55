//! Clients that come evenly are served at their limit: not above it, and not starved.

use core::time::Duration;

use super::counter::Counter;
use crate::{Limit, Rate};

const SECOND: u64 = 1_000_000_000;
const QUOTA: u64 = 100;
const WINDOWS: u64 = 100;

fn rate() -> Rate {
    Rate::new(QUOTA, Duration::from_secs(1)).unwrap()
}

/// Of one request every `interval`: how many pass, and the longest time between two that do.
fn serve(limit: Limit, interval: u64) -> (u64, u64) {
    let mut counter = Counter::new(limit);
    let (mut served, mut last, mut gap) = (0, 0, 0);
    for hold in 0..WINDOWS * SECOND / interval {
        let now = 1_000 * SECOND + hold * interval;
        if counter.charge(1, hold, now).outcome.passes() {
            gap = gap.max(now - if served == 0 { now } else { last });
            served += 1;
            last = now;
        }
    }
    (served, gap)
}

#[test]
fn a_client_at_one_and_a_half_times_its_limit_is_served_at_its_limit() {
    let limits = [
        Limit::token_bucket(rate(), QUOTA).unwrap(),
        Limit::token_bucket(rate(), 2).unwrap(),
        Limit::leaky_bucket(rate(), 1, Duration::from_secs(1)).unwrap(),
        Limit::fixed_window(rate()),
        Limit::sliding_window(rate()),
        Limit::sliding_window_log(rate()).unwrap(),
        Limit::concurrency(QUOTA, Duration::from_secs(1)).unwrap(),
    ];
    for limit in limits {
        let (served, gap) = serve(limit.clone(), SECOND / 150);
        let expected = WINDOWS * QUOTA;
        assert!(
            served <= expected + QUOTA,
            "{limit:?} served {served} of {expected}"
        );
        assert!(
            served >= expected / 100 * 98,
            "{limit:?} served only {served} of {expected}"
        );
        assert!(gap < SECOND, "{limit:?} let {gap} ns pass without serving");
    }
}

#[test]
fn a_client_below_its_limit_is_never_refused() {
    let limits = [
        Limit::token_bucket(rate(), 1).unwrap(),
        Limit::leaky_bucket(rate(), 1, Duration::ZERO).unwrap(),
        Limit::fixed_window(rate()),
        Limit::sliding_window(rate()),
        Limit::sliding_window_log(rate()).unwrap(),
        Limit::concurrency(QUOTA, Duration::from_secs(1)).unwrap(),
    ];
    for limit in limits {
        let interval = SECOND / 99;
        let (served, _) = serve(limit.clone(), interval);
        assert_eq!(served, WINDOWS * SECOND / interval, "{limit:?}");
    }
}
