//! What clients may rely on, over random limits and histories, with core's algorithms deciding.

use std::time::Duration;

use http::HeaderMap;
use proptest::prelude::*;
use sfv::{BareItem, List, ListEntry, Parser};
use tidegate_core::{Cost, Limit, Table, TableSize, Timestamp};

use super::NOW;
use crate::fixture::{get, plan, policy, rate};
use crate::{Answers, Policy};

/// Policies with buckets of moderate rates; names of every character that policy files allow, and some that they do not.
fn any_policies() -> impl Strategy<Value = Vec<Policy>> {
    let limit = (1u64..200, 1u64..100_000, 1u64..50)
        .prop_map(|(quota, window_ms, burst)| Limit::token_bucket(rate(quota, window_ms), burst).unwrap());
    let one = ("[ -~é]{1,20}", limit, 1u64..4).prop_map(|(name, limit, cost)| {
        let cost = Cost::new(cost);
        Policy {
            cost,
            ..policy(&name, limit)
        }
    });
    prop::collection::vec(one, 1..4)
}

fn table() -> Table {
    Table::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 16,
    })
}

fn later(now: Timestamp, millis: u64) -> Timestamp {
    now.saturating_add(Duration::from_millis(millis))
}

/// The members of a List with the integers of their parameters; panics where `sfv` refuses the text.
fn parse_list(text: &str) -> List {
    Parser::new(text)
        .parse::<List>()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn integer(list: &List, index: usize, parameter: &str) -> u64 {
    let ListEntry::Item(item) = &list[index] else {
        panic!("an inner list")
    };
    let BareItem::Integer(number) = item.params.get(parameter).unwrap() else {
        panic!("no integer")
    };
    u64::try_from(i64::from(*number)).unwrap()
}

proptest! {
    #[test]
    fn the_fields_are_structured_fields_and_a_retry_on_time_passes(
        policies in any_policies(),
        gaps_ms in prop::collection::vec(0u64..3_000, 1..60),
    ) {
        let table = table();
        let plan = plan(&policies);
        let mut now = NOW;
        for gap_ms in gaps_ms {
            now = later(now, gap_ms);
            let verdict = plan.conclude(Ok(&table.charge(&plan.charges, now)));
            let headers = HeaderMap::new();
            let refusal = Answers::default().refuse(&verdict, &get(&headers), now);
            let mut passed = HeaderMap::new();
            Answers::default().mark(&verdict, now, &mut passed);
            let told = refusal.as_ref().map_or(&passed, |refusal| refusal.headers());

            let limits = parse_list(told["ratelimit"].to_str().unwrap());
            let named = parse_list(told["ratelimit-policy"].to_str().unwrap());
            prop_assert_eq!(named.len(), policies.len());
            for index in 0..limits.len() {
                integer(&limits, index, "r");
                prop_assert!(integer(&limits, index, "t") >= 1);
            }
            let Some(refusal) = refusal else { continue };
            prop_assert!(is_json_object(refusal.body()), "{:?}", refusal.body());
            let Some(wait) = refusal.headers().get("retry-after") else { continue };
            let wait_secs: u64 = wait.to_str().unwrap().parse().unwrap();
            prop_assert!(wait_secs >= 1);
            for index in 0..limits.len() {
                prop_assert!(integer(&limits, index, "t") <= wait_secs);
            }
            let retried_at = later(now, wait_secs * 1_000);
            let retried = plan.conclude(Ok(&table.charge(&plan.charges, retried_at)));
            prop_assert!(Answers::default().refuse(&retried, &get(&headers), retried_at).is_none());
            now = retried_at;
        }
    }

    #[test]
    fn who_spends_no_more_than_r_within_t_is_not_refused_and_finds_more_after_it(
        quota in 1u64..200, window_ms in 1u64..100_000, burst in 1u64..50, history_ms in prop::collection::vec(0u64..1_000, 1..60),
        moments in prop::collection::vec(0u64..1_000, 50),
    ) {
        let policies = [policy("api", Limit::token_bucket(rate(quota, window_ms), burst).unwrap())];
        let (table, plan) = (table(), plan(&policies));
        let mut now = NOW;
        let mut told = HeaderMap::new();
        for gap_ms in history_ms {
            now = later(now, gap_ms);
            let verdict = plan.conclude(Ok(&table.charge(&plan.charges, now)));
            told.clear();
            Answers::default().mark(&verdict, now, &mut told);
        }
        let limits = parse_list(told["ratelimit"].to_str().unwrap());
        let (r, t_ms) = (integer(&limits, 0, "r"), integer(&limits, 0, "t") * 1_000);
        let mut moments: Vec<u64> = moments.iter().take(usize::try_from(r).unwrap()).map(|part| part * t_ms / 1_000).collect();
        moments.sort_unstable();
        for moment in moments {
            prop_assert!(table.charge(&plan.charges, later(now, moment)).charged);
        }
        prop_assert!(table.charge(&plan.charges, later(now, t_ms)).charged);
    }
}

/// Whether `body` is one JSON object, as an independent parser sees it.
fn is_json_object(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body).is_ok()
}
