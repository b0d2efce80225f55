//! What a client sees on responses of the origin.

use std::time::Duration;

use http::HeaderMap;
use tidegate_core::{Decisions, Limit, Mode, Outcome};

use super::NOW;
use crate::fixture::{allow, bucket, decision, decisions, deny, fields, lines, plan, policy, rate};
use crate::{Answers, Plan, Policy, RateLimitForm, StoreFailure, XRateLimit};

fn marked_with(answers: Answers, policies: &[Policy], each: &Decisions, mut fields: HeaderMap) -> String {
    let verdict = plan(policies).conclude(Ok(each));
    answers.mark(&verdict, NOW, &mut fields);
    lines(&fields)
}

fn marked(policies: &[Policy], each: &Decisions) -> String {
    marked_with(Answers::default(), policies, each, HeaderMap::new())
}

#[test]
fn one_bucket_is_told_by_five_fields() {
    let told = marked(&[bucket("api", 60, 60_000, 10)], &decisions([allow(9, 1_000)]));
    assert_eq!(
        told,
        "ratelimit-policy: \"api\";q=60;w=60;tidegate-burst=10\n\
         ratelimit: \"api\";r=9;t=1\n\
         x-ratelimit-limit: 10\n\
         x-ratelimit-remaining: 9\n\
         x-ratelimit-reset: 1796040002\n"
    );
}

#[test]
fn the_burst_is_not_repeated_where_it_is_the_quota() {
    let told = marked(&[bucket("api", 60, 60_000, 60)], &decisions([allow(59, 1_000)]));
    assert!(told.contains("ratelimit-policy: \"api\";q=60;w=60\n"), "{told}");
}

#[test]
fn several_limits_are_lists_and_the_one_with_the_least_left_leads() {
    let policies = [
        bucket("minute", 60, 60_000, 60),
        policy("day", Limit::fixed_window(rate(1000, 86_400_000))),
    ];
    assert_eq!(
        marked(&policies, &decisions([allow(59, 1_000), allow(3, 40_000_001)])),
        "ratelimit-policy: \"minute\";q=60;w=60, \"day\";q=1000;w=86400\n\
         ratelimit: \"minute\";r=59;t=1, \"day\";r=3;t=40001\n\
         x-ratelimit-limit: 1000\n\
         x-ratelimit-remaining: 3\n\
         x-ratelimit-reset: 1796080001\n"
    );
}

#[test]
fn an_emptied_bucket_tells_when_the_next_unit_comes_not_when_all_have() {
    let told = marked(&[bucket("api", 1, 2_000, 10)], &decisions([allow(0, 20_000)]));
    assert!(told.contains("ratelimit: \"api\";r=0;t=2\n"), "{told}");
    assert!(told.contains("x-ratelimit-reset: 1796040021\n"), "{told}");
}

#[test]
fn windows_shorter_than_a_second_are_told_as_a_second() {
    let told = marked(
        &[policy("fast", Limit::fixed_window(rate(5, 1_500)))],
        &decisions([allow(4, 300)]),
    );
    assert!(told.contains("ratelimit-policy: \"fast\";q=5;w=2\n"), "{told}");
    assert!(told.contains("ratelimit: \"fast\";r=4;t=1\n"), "{told}");
}

#[test]
fn concurrency_has_a_unit_and_no_window() {
    let limit = Limit::concurrency(8, Duration::from_secs(30)).unwrap();
    let told = marked(&[policy("slots", limit)], &decisions([allow(7, 30_000)]));
    assert!(
        told.contains("ratelimit-policy: \"slots\";q=8;qu=\"concurrent-requests\"\n"),
        "{told}"
    );
    assert!(told.contains("ratelimit: \"slots\";r=7\n"), "{told}");
}

#[test]
fn a_wait_changes_nothing_of_what_is_told() {
    let delay = Duration::from_millis(700);
    let limit = Limit::leaky_bucket(rate(1, 1_000), 1, Duration::from_secs(5)).unwrap();
    let told = marked(
        &[policy("smooth", limit)],
        &decisions([decision(Outcome::Allow { delay }, 0, 1_700)]),
    );
    assert!(told.contains("ratelimit: \"smooth\";r=0;t=2\n"), "{told}");
}

#[test]
fn numbers_beyond_fifteen_digits_are_capped_in_structured_fields() {
    let limit = Limit::fixed_window(rate(u64::MAX, 1_000));
    let told = marked(&[policy("vast", limit)], &decisions([allow(u64::MAX - 1, 1_000)]));
    assert!(
        told.contains("ratelimit-policy: \"vast\";q=999999999999999;w=1\n"),
        "{told}"
    );
    assert!(
        told.contains("ratelimit: \"vast\";r=999999999999999;t=1\n"),
        "{told}"
    );
    assert!(
        told.contains("x-ratelimit-remaining: 18446744073709551614\n"),
        "{told}"
    );
}

#[test]
fn the_end_of_time_is_told_without_overflow() {
    let told = marked(
        &[bucket("slow", 1, 1_000, 1)],
        &decisions([decision(Outcome::ALLOW, 1, u64::MAX)]),
    );
    assert!(told.contains("x-ratelimit-reset: 9223372037\n"), "{told}");
}

#[test]
fn draft_07_is_one_dictionary_and_unnamed_policies() {
    let answers = Answers {
        rate_limit: RateLimitForm::Draft07,
        x_rate_limit: XRateLimit::Omit,
        ..Answers::default()
    };
    let slots = policy("slots", Limit::concurrency(8, Duration::from_secs(30)).unwrap());
    let policies = [
        bucket("api", 60, 60_000, 10),
        bucket("day", 1000, 86_400_000, 1000),
        slots,
    ];
    let each = decisions([allow(9, 1_000), allow(999, 86_400), allow(10, 30_000)]);
    assert_eq!(
        marked_with(answers, &policies, &each, HeaderMap::new()),
        "ratelimit-policy: 60;w=60;burst=10, 1000;w=86400\n\
         ratelimit: limit=10, remaining=9, reset=1\n"
    );
}

#[test]
fn fields_can_be_left_out() {
    let answers = Answers {
        rate_limit: RateLimitForm::Omit,
        x_rate_limit: XRateLimit::Omit,
        ..Answers::default()
    };
    let policies = [bucket("api", 60, 60_000, 10)];
    assert_eq!(
        marked_with(
            answers,
            &policies,
            &decisions([allow(9, 1_000)]),
            HeaderMap::new()
        ),
        ""
    );
}

#[test]
fn shadow_limits_are_never_told_to_clients() {
    let mut shadow = bucket("trial", 1, 60_000, 1);
    shadow.mode = Mode::Shadow;
    let alone = [shadow.clone()];
    assert_eq!(marked(&alone, &decisions([deny(0, 60_000, 60_000)])), "");

    let both = [bucket("api", 60, 60_000, 60), shadow];
    let told = marked(&both, &decisions([allow(59, 1_000), deny(0, 60_000, 60_000)]));
    assert_eq!(told, marked(&both[..1], &decisions([allow(59, 1_000)])));
}

#[test]
fn an_unlimited_request_is_told_nothing() {
    assert_eq!(marked(&[], &decisions([])), "");
}

#[test]
fn a_request_that_passed_undecided_is_marked() {
    let policies = [bucket("api", 60, 60_000, 10)];
    let verdict = plan(&policies).conclude(Err(StoreFailure::Timeout));
    let mut fields = HeaderMap::new();
    Answers::default().mark(&verdict, NOW, &mut fields);
    assert_eq!(lines(&fields), "x-tidegate-failure: timeout\n");
}

#[test]
fn an_origin_that_leaves_less_keeps_its_own_fields() {
    let policies = [bucket("api", 60, 60_000, 10)];
    let theirs = fields(&[
        ("X-RateLimit-Limit", "5"),
        ("X-RateLimit-Remaining", "2"),
        ("X-RateLimit-Reset", "99"),
    ]);
    let told = marked_with(
        Answers::default(),
        &policies,
        &decisions([allow(9, 1_000)]),
        theirs,
    );
    assert!(
        told.contains("x-ratelimit-limit: 5\nx-ratelimit-remaining: 2\nx-ratelimit-reset: 99\n"),
        "{told}"
    );
}

#[test]
fn an_origin_that_leaves_more_or_writes_nonsense_is_overruled() {
    let policies = [bucket("api", 60, 60_000, 10)];
    for remaining in ["10", "many", "", "-1", "99999999999999999999"] {
        let theirs = fields(&[("x-ratelimit-limit", "5"), ("x-ratelimit-remaining", remaining)]);
        let told = marked_with(
            Answers::default(),
            &policies,
            &decisions([allow(9, 1_000)]),
            theirs,
        );
        assert!(
            told.contains("x-ratelimit-limit: 10\nx-ratelimit-remaining: 9\n"),
            "{told}"
        );
    }
}

#[test]
fn an_origins_lists_are_added_to_and_its_older_forms_replaced() {
    let policies = [bucket("api", 60, 60_000, 60)];
    let each = decisions([allow(59, 1_000)]);
    let lists = fields(&[
        ("RateLimit", "\"own\";r=1;t=9"),
        ("RateLimit-Policy", "\"own\";q=5;w=9"),
    ]);
    let told = marked_with(Answers::default(), &policies, &each, lists);
    assert!(told.starts_with(
        "ratelimit-policy: \"api\";q=60;w=60\nratelimit-policy: \"own\";q=5;w=9\nratelimit: \"api\";r=59;t=1\nratelimit: \"own\";r=1;t=9\n"
    ), "{told}");

    let older = fields(&[
        ("RateLimit", "limit=5, remaining=1, reset=9"),
        ("RateLimit-Policy", "5;w=9"),
    ]);
    let told = marked_with(Answers::default(), &policies, &each, older);
    assert!(
        told.starts_with("ratelimit-policy: \"api\";q=60;w=60\nratelimit: \"api\";r=59;t=1\nx-"),
        "{told}"
    );
}

#[test]
fn a_plan_without_policies_is_concluded_as_a_pass() {
    assert_eq!(Plan::default().conclude(Ok(&Decisions::default())).word(), "pass");
}
