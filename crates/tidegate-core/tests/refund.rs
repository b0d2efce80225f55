//! Units that were spent some time ago are given back: as many as there are, and none twice.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::time::Duration;

use common::{NOW, charge, costing, key, left, limits, limits_per, table};
use proptest::prelude::*;
use tidegate_core::{Algorithm, Charge, Cost, HoldId, Limit, MAX_LOG_QUOTA, Rate, Table, Timestamp};

const WINDOW: u64 = 1_000;

/// Limits of each algorithm, and buckets whose rates do not divide their windows.
fn all_limits() -> Vec<Limit> {
    let window = Duration::from_nanos(WINDOW);
    let rate = |quota| Rate::new(quota, window).unwrap();
    let mut all = limits_per(window, 10).to_vec();
    all.push(Limit::token_bucket(rate(7), 5).unwrap());
    all.push(Limit::leaky_bucket(rate(7), 2, window).unwrap());
    all
}

fn ask(limit: &Limit, units: u64, hold: u64) -> Charge<'_> {
    Charge {
        cost: Cost::new(units),
        hold: HoldId(hold),
        ..charge(1, limit)
    }
}

fn after(nanos: u64) -> Timestamp {
    NOW.saturating_add(Duration::from_nanos(nanos))
}

/// Waits and costs of requests that follow each other.
fn requests(most: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..400_u64, 1..4_u64), 0..most)
}

/// The most that `limit` admits in a span of `length`, which is shorter than its window.
fn bound(limit: &Limit, length: u64) -> u64 {
    match limit.algorithm() {
        Algorithm::SlidingWindowLog | Algorithm::Concurrency => limit.capacity(),
        Algorithm::FixedWindow => 2 * limit.capacity(),
        Algorithm::SlidingWindow => 2 * limit.capacity() - 1,
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            let waiting = u64::try_from(limit.max_delay().unwrap_or_default().as_nanos()).unwrap();
            limit.capacity() + (limit.quota() * (length + waiting + 2)).div_ceil(WINDOW)
        }
    }
}

proptest! {
    #[test]
    fn what_was_spent_just_now_is_as_if_it_had_never_been(
        before in requests(12),
        (wait, units) in (0..400_u64, 1..6_u64),
        later in requests(12),
    ) {
        // Slots come back in the order in which they were taken.
        for limit in all_limits().iter().filter(|limit| limit.algorithm() != Algorithm::Concurrency) {
            let (charged, never) = (table(), table());
            let mut at = 0;
            for (hold, (wait, units)) in before.iter().enumerate() {
                at += wait;
                let ask = [ask(limit, *units, hold as u64)];
                prop_assert_eq!(charged.charge(&ask, after(at)), never.charge(&ask, after(at)));
            }
            at += wait;
            let spent = [ask(limit, units, 1_000)];
            if charged.charge(&spent, after(at)).charged {
                charged.refund(&spent, after(at));
            }
            for (hold, (wait, units)) in [(0, 0)].iter().chain(&later).enumerate() {
                at += wait;
                let ask = [ask(limit, *units, 2_000 + hold as u64)];
                let answers = [&charged, &never].map(|table| table.charge(&ask, after(at)));
                prop_assert_eq!(&answers[0], &answers[1], "{:?}", limit);
            }
        }
    }

    #[test]
    fn no_span_admits_more_than_the_bound_and_what_is_given_back_in_it(
        steps in prop::collection::vec((0..300_u64, 1..6_u64, prop::bool::weighted(0.3)), 1..60),
    ) {
        for limit in &all_limits() {
            let table = table();
            // When, how many went in, how many came back.
            let mut history: Vec<(u64, u64, u64)> = Vec::new();
            let mut at = 0;
            for (hold, &(wait, units, gives_back)) in steps.iter().enumerate() {
                at += wait;
                let asked = [ask(limit, units, hold as u64)];
                if gives_back {
                    table.refund(&asked, after(at));
                    history.push((at, 0, units));
                } else if table.charge(&asked, after(at)).charged {
                    history.push((at, units, 0));
                }
            }
            for (first, &(from, ..)) in history.iter().enumerate() {
                let (mut admitted, mut given_back) = (0, 0);
                for &(at, units, back) in history[first..].iter().take_while(|(at, ..)| at - from < WINDOW) {
                    admitted += units;
                    given_back += back;
                    prop_assert!(
                        admitted <= bound(limit, at - from) + given_back,
                        "{} and {} back in {} ns under {:?}", admitted, given_back, at - from, limit,
                    );
                }
            }
        }
    }

    #[test]
    fn no_more_are_on_their_way_than_there_are_slots(
        steps in prop::collection::vec((0..200_u64, prop::option::of(any::<prop::sample::Index>())), 1..80),
    ) {
        let limit = Limit::concurrency(5, Duration::from_nanos(WINDOW)).unwrap();
        let table = table();
        let mut on_their_way: Vec<u64> = Vec::new();
        let mut at = 0;
        for (wait, ends) in steps {
            at += wait;
            on_their_way.retain(|since| at - since < WINDOW);
            match ends {
                Some(which) if !on_their_way.is_empty() => {
                    let which = which.index(on_their_way.len());
                    on_their_way.remove(which);
                    table.refund(&[ask(&limit, 1, 0)], after(at));
                }
                _ => {
                    if table.charge(&[ask(&limit, 1, at)], after(at)).charged {
                        on_their_way.push(at);
                    }
                }
            }
            prop_assert!(on_their_way.len() <= 5);
        }
    }
}

#[test]
fn as_much_comes_back_as_the_counter_holds_and_no_more() {
    for limit in &limits(10) {
        let table = table();
        assert!(table.charge(&[costing(8, charge(1, limit))], NOW).charged);
        for (units, remaining) in [(0, 2), (3, 5), (u64::MAX, 10), (1, 10)] {
            table.refund(&[costing(units, charge(1, limit))], NOW);
            assert_eq!(left(&table, 1, limit), remaining, "{limit:?} and {units} back");
        }
    }
}

#[test]
fn a_counter_that_is_not_there_gets_nothing_and_others_keep_what_they_spent() {
    for limit in &limits(5) {
        let table = table();
        assert!(table.charge(&[costing(2, charge(1, limit))], NOW).charged);
        table.refund(&[costing(2, charge(2, limit))], NOW);
        assert_eq!([left(&table, 1, limit), left(&table, 2, limit)], [3, 5]);
        let several = [charge(1, limit), charge(2, limit), charge(1, limit)];
        table.refund(&several, NOW);
        assert_eq!([left(&table, 1, limit), left(&table, 2, limit)], [5, 5]);
    }
}

#[test]
fn a_log_gives_back_its_latest_hits_over_several_spendings() {
    let limit = Limit::sliding_window_log(Rate::new(10, Duration::from_nanos(WINDOW)).unwrap()).unwrap();
    let table = table();
    for at in [0, 100, 200, 300] {
        assert!(table.charge(&[ask(&limit, 2, 0)], after(at)).charged);
    }
    // Of 0 and 100 all is left, and of 200 one.
    table.refund(&[ask(&limit, 3, 0)], after(400));
    let left_at = |at| table.charge(&[ask(&limit, 0, 0)], after(at)).each[0].remaining;
    assert_eq!([999, 1_000, 1_100, 1_200].map(left_at), [5, 7, 9, 10]);
}

#[test]
fn the_longest_log_gives_back_all_it_has() {
    let rate = Rate::new(MAX_LOG_QUOTA, Duration::from_secs(1)).unwrap();
    let limit = Limit::sliding_window_log(rate).unwrap();
    let table: Table = table();
    for at in 0..MAX_LOG_QUOTA {
        assert!(table.charge(&[ask(&limit, 1, 0)], after(at)).charged);
    }
    let held = table.usage().ledger_bytes;
    table.refund(&[ask(&limit, MAX_LOG_QUOTA - 1, 0)], after(MAX_LOG_QUOTA));
    let look = Charge {
        key: key(1),
        ..ask(&limit, 0, 0)
    };
    assert_eq!(
        table.charge(&[look], after(MAX_LOG_QUOTA)).each[0].remaining,
        MAX_LOG_QUOTA - 1
    );
    assert!(table.usage().ledger_bytes < held, "memory comes back as well");
}
