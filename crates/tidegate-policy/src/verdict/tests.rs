use std::time::Duration;

use tidegate_core::{Decision, Decisions, Mode, Outcome};

use super::{Course, Reason, Shadow, StoreFailure, Verdict};
use crate::fixture::{allow, bucket, decision, decisions, deny, plan};
use crate::{Finding, Findings, OnStoreFailure, Plan, Policy, Refusal};

fn three() -> [Policy; 3] {
    ["a", "b", "c"].map(|name| bucket(name, 60, 60_000, 10))
}

/// The verdict's word, the wait if any, and the name of the deciding limit.
fn told(verdict: &Verdict<'_>) -> (&'static str, u128, String) {
    let wait_ms = match verdict.course {
        Course::Delay(wait) | Course::Reject(Reason::Limited { retry_after: wait }) => wait.as_millis(),
        Course::Pass | Course::Reject(_) => 0,
    };
    let deciding = verdict
        .deciding()
        .map(|reading| reading.source.limit.label.to_string());
    (verdict.word(), wait_ms, deciding.unwrap_or_default())
}

fn concluded(each: [Decision; 3]) -> (&'static str, u128, String) {
    told(&plan(&three()).conclude(Ok(&decisions(each))))
}

fn delayed(delay_ms: u64, remaining: u64) -> Decision {
    let delay = Duration::from_millis(delay_ms);
    decision(Outcome::Allow { delay }, remaining, 10_000)
}

fn never() -> Decision {
    decision(Outcome::Never, 10, 0)
}

#[test]
fn the_least_left_decides_a_pass_and_then_the_longest_way_to_full() {
    assert_eq!(
        concluded([allow(9, 1), allow(3, 1), allow(5, 1)]),
        ("pass", 0, "b".into())
    );
    assert_eq!(
        concluded([allow(3, 1), allow(3, 7), allow(3, 5)]),
        ("pass", 0, "b".into())
    );
    assert_eq!(
        concluded([allow(3, 1), allow(3, 1), allow(3, 1)]),
        ("pass", 0, "a".into())
    );
}

#[test]
fn the_longest_delay_is_waited_out() {
    assert_eq!(
        concluded([delayed(200, 4), delayed(900, 3), allow(9, 1)]),
        ("delay", 900, "b".into())
    );
    assert_eq!(
        concluded([allow(9, 1), delayed(200, 3), delayed(100, 2)]),
        ("delay", 200, "c".into())
    );
}

#[test]
fn the_longest_wait_decides_a_refusal_whatever_the_others_have_left() {
    assert_eq!(
        concluded([deny(0, 500, 500), deny(2, 900, 900), allow(0, 9_000)]),
        ("reject", 900, "b".into())
    );
    assert_eq!(
        concluded([deny(0, 900, 900), deny(2, 500, 500), delayed(2_000, 0)]),
        ("reject", 900, "a".into())
    );
}

#[test]
fn never_outweighs_every_wait() {
    for each in [
        [never(), deny(0, 900, 900), allow(9, 1)],
        [deny(0, 900, 900), never(), delayed(100, 1)],
        [delayed(100, 1), deny(0, 900, 900), never()],
    ] {
        let policies = three();
        let verdict = plan(&policies).conclude(Ok(&decisions(each)));
        assert!(
            matches!(verdict.course, Course::Reject(Reason::Never)),
            "{verdict:?}"
        );
        assert_eq!(verdict.deciding().unwrap().decision, never());
    }
}

#[test]
fn shadow_limits_decide_nothing_and_the_first_that_refuses_is_told() {
    let mut policies = three();
    policies[0].mode = Mode::Shadow;
    policies[1].mode = Mode::Shadow;
    let plan = plan(&policies);

    let verdict = plan.conclude(Ok(&decisions([never(), deny(0, 900, 900), allow(4, 1)])));
    assert_eq!(told(&verdict), ("shadow", 0, "c".into()));
    assert!(matches!(verdict.shadow, Some(Shadow::Limit(reading)) if reading.source.policy_index == 0));

    let verdict = plan.conclude(Ok(&decisions([delayed(500, 0), allow(0, 1), allow(4, 1)])));
    assert_eq!(told(&verdict), ("pass", 0, "c".into()));

    let verdict = plan.conclude(Ok(&decisions([
        allow(1, 1),
        deny(0, 900, 900),
        deny(0, 100, 100),
    ])));
    assert_eq!(told(&verdict), ("reject", 100, "c".into()));
    assert!(matches!(verdict.shadow, Some(Shadow::Limit(reading)) if reading.source.policy_index == 1));
}

#[test]
fn a_plans_refusal_needs_no_store_and_beats_its_answer() {
    let plan = Plan {
        refusal: Some(Refusal::AmbiguousPath),
        ..Plan::default()
    };
    for answer in [Ok(&Decisions::default()), Err(StoreFailure::Timeout)] {
        let verdict = plan.conclude(answer);
        assert!(matches!(
            verdict.course,
            Course::Reject(Reason::Unplanned(Refusal::AmbiguousPath))
        ));
        assert_eq!(verdict.failure, None);
    }
}

#[test]
fn a_shadow_policys_refusal_is_only_told() {
    let policies = three();
    let mut plan = plan(&policies[..1]);
    plan.shadow_refusals.push(Refusal::MissingKeyPart {
        policy: &policies[1],
        part: "header.x",
    });
    let verdict = plan.conclude(Ok(&decisions([allow(9, 1)])));
    assert_eq!(told(&verdict), ("shadow", 0, "a".into()));
    assert!(matches!(verdict.shadow, Some(Shadow::Unplanned(_))));
}

#[test]
fn when_the_store_fails_one_enforced_policy_that_denies_is_enough() {
    let verdict_with = |on_store_failure, mode| {
        let mut policies = three();
        policies[2] = Policy {
            on_store_failure,
            mode,
            ..policies[2].clone()
        };
        let verdict = plan(&policies).conclude(Err(StoreFailure::Unavailable));
        assert_eq!(verdict.failure, Some(StoreFailure::Unavailable));
        verdict.word()
    };
    assert_eq!(verdict_with(OnStoreFailure::Deny, Mode::Enforce), "reject");
    assert_eq!(verdict_with(OnStoreFailure::Deny, Mode::Shadow), "pass");
    assert_eq!(verdict_with(OnStoreFailure::Allow, Mode::Enforce), "pass");
    assert_eq!(verdict_with(OnStoreFailure::Local, Mode::Enforce), "pass");
}

#[test]
fn decisions_that_do_not_fit_the_charges_are_a_failed_store() {
    let policies = three();
    let verdict = plan(&policies).conclude(Ok(&decisions([allow(9, 1)])));
    assert_eq!(verdict.failure, Some(StoreFailure::Garbled));
}

#[test]
fn charges_that_were_not_asked_are_not_told_and_the_others_decide() {
    let policies = three();
    let found = Findings {
        each: [
            Finding::Unasked,
            Finding::Decided(deny(0, 2000, 3000)),
            Finding::Unasked,
        ]
        .into_iter()
        .collect(),
        failure: None,
    };
    let verdict = plan(&policies).conclude_findings(&found);
    assert_eq!(told(&verdict), ("reject", 2000, "b".into()));
    assert!(!found.charged([Mode::Enforce; 3].into_iter()));
    assert!(found.charged([Mode::Shadow; 3].into_iter()));
}

#[test]
fn a_failed_store_leaves_the_decision_to_the_limits_that_were_asked_unless_one_denies() {
    let with = |on_store_failure, mode, each: [Finding; 3]| {
        let mut policies = three();
        policies[2] = Policy {
            on_store_failure,
            mode,
            ..policies[2].clone()
        };
        let failure = Some(StoreFailure::Timeout);
        let each = each.into_iter().collect();
        let verdict = plan(&policies).conclude_findings(&Findings { each, failure });
        assert_eq!(verdict.failure, failure);
        (verdict.word(), verdict.readings.len())
    };
    let (yes, no) = (Finding::Decided(allow(9, 1)), Finding::Decided(deny(0, 1, 1)));
    let failed = Finding::Failed;
    assert_eq!(
        with(OnStoreFailure::Allow, Mode::Enforce, [yes, yes, failed]),
        ("pass", 2)
    );
    assert_eq!(
        with(OnStoreFailure::Local, Mode::Enforce, [yes, failed, no]),
        ("reject", 2)
    );
    assert_eq!(
        with(OnStoreFailure::Deny, Mode::Enforce, [yes, yes, failed]),
        ("reject", 0)
    );
    assert_eq!(
        with(OnStoreFailure::Deny, Mode::Shadow, [yes, yes, failed]),
        ("pass", 2)
    );
}
