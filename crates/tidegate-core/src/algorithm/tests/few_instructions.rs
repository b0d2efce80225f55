//! The quick way through a bucket is the same as the long one.

use core::time::Duration;

use proptest::prelude::*;

use crate::algorithm::bucket::Bucket;
use crate::limit::Rate;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_quick_way_decides_as_the_long_one(
        quota in 1u64..50,
        interval in 1u64..1_000_000,
        uneven in 0u64..2,
        burst in 1u64..100,
        max_delay in prop_oneof![3 => Just(0u64), 1 => 1u64..10_000_000],
        cost in 0u64..110,
        now in prop_oneof![Just(0u64), Just(i64::MAX as u64), 0u64..i64::MAX as u64],
        ahead in prop_oneof![Just(0u64), 0u64..100_000_000, 0u64..20_000_000_000],
    ) {
        let rate = Rate::new(quota, Duration::from_nanos(quota * interval + uneven)).unwrap();
        let bucket = Bucket::new(rate, burst, Duration::from_nanos(max_delay)).unwrap();
        // Tats in the past, and up to far more than an empty bucket ahead.
        for tat in [now.saturating_sub(ahead), now + ahead, now + ahead % (interval * burst + 1)] {
            let long = bucket.decide(tat, cost, now);
            let quick = bucket.decide_if_simple(tat, cost, now);
            prop_assert!(quick.is_none_or(|quick| quick == long), "{tat}: {quick:?} against {long:?}");
            let usual = uneven == 0 && max_delay == 0 && (1..=burst).contains(&cost) && tat <= now + interval * burst;
            prop_assert!(quick.is_some() || !usual, "the usual case goes the long way");
        }
    }
}

#[test]
fn the_quick_way_decides_as_the_long_one_where_an_empty_bucket_takes_292_years() {
    let rate = Rate::new(1, Duration::from_nanos(i64::MAX as u64 - 2)).unwrap();
    let bucket = Bucket::new(rate, 1, Duration::ZERO).unwrap();
    for now in [0, 1_800_000_000_000_000_000, i64::MAX as u64] {
        let empty = bucket.decide(0, 1, now).next_tat.unwrap();
        for reader in [now.saturating_sub(5_000_000_000), now] {
            let quick = bucket.decide_if_simple(empty, 1, reader);
            assert!(quick.is_none_or(|quick| quick == bucket.decide(empty, 1, reader)));
        }
    }
}
