use tidegate_core::KeyHasher;

use super::*;
use crate::{Compiled, PolicyFile, Problems, compile};

const REDIS: &str = "store: redis://127.0.0.1\n";

fn read(store: &str, policy: &str) -> Result<Compiled, Problems> {
    let text = &format!("{store}policies:\n  - {{ name: p, key: [client.ip], {policy} }}\n");
    let name = "t.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
}

fn counted(store: &str, more: &str) -> crate::Policy {
    let policy = format!("limit: {{ quota: 100, window: 1m, burst: 10 }}, {more}");
    read(store, &policy).unwrap().config.policies.policies()[0].clone()
}

#[test]
fn policies_are_strict_where_instances_share_a_store_unless_they_say_otherwise() {
    assert_eq!(counted("", "").consistency, Consistency::Local);
    assert_eq!(counted(REDIS, "").consistency, Consistency::Strict);
    assert_eq!(
        counted(REDIS, "consistency: local").consistency,
        Consistency::Local
    );
    assert_eq!(
        counted(REDIS, "consistency: strict").consistency,
        Consistency::Strict
    );
}

#[test]
fn only_strict_policies_that_would_rather_refuse_take_a_store_that_forgot_to_be_used_up() {
    for (store, more, is_cautious) in [
        (REDIS, "on_store_failure: deny", true),
        (REDIS, "on_store_failure: local", false),
        (REDIS, "on_store_failure: allow", false),
        (REDIS, "consistency: local, on_store_failure: deny", false),
        ("", "on_store_failure: deny", false),
    ] {
        let limits = counted(store, more).limits;
        assert_eq!(limits[0].limit.is_cautious(), is_cautious, "{store}{more}");
    }
}

#[test]
fn strict_needs_a_store_and_what_is_not_there_yet_is_refused() {
    for (store, consistency, message) in [
        ("", "strict", "no store in which instances could count together"),
        (
            "store: { memory: 1MiB }\n",
            "strict",
            "no store in which instances could count together",
        ),
        (REDIS, "leased", "not available in this version"),
        (REDIS, "replicated", "not available in this version"),
    ] {
        let policy = format!("limit: {{ quota: 1, window: 1s }}, consistency: {consistency}");
        let errors = read(store, &policy).unwrap_err().to_string();
        assert!(errors.contains(message), "{errors}");
    }
}

#[test]
fn a_store_that_is_written_wrongly_is_the_only_error() {
    let errors = read(
        "store: redis://a:b\n",
        "limit: { quota: 1, window: 1s }, consistency: strict",
    );
    assert_eq!(errors.unwrap_err().iter().count(), 1);
}

#[test]
fn a_share_is_a_percentage_or_a_fraction() {
    let local = |share: &str| {
        let policy = counted(REDIS, &format!("local_share: {share}"));
        let limit = policy.limits[0].local();
        (limit.quota(), limit.burst())
    };
    assert_eq!(local("1"), (100, Some(10)));
    assert_eq!(local("25%"), (25, Some(2)));
    assert_eq!(local("0.25"), (25, Some(2)));
    assert_eq!(local("12.5%"), (12, Some(1)));
    assert_eq!(local("0.000001"), (1, Some(1)));
    assert_eq!(
        counted(REDIS, "local_share: 12.5%").local_share.to_string(),
        "12.5%"
    );
    for share in [
        "0",
        "0%",
        "101%",
        "1.01",
        "-1",
        "half",
        "'%'",
        "1.",
        ".5",
        "0.0000001",
        "99999999999",
    ] {
        let policy = format!("limit: {{ quota: 1, window: 1s }}, local_share: {share}");
        let errors = read(REDIS, &policy).unwrap_err().to_string();
        assert!(errors.contains("is not a part of a limit"), "{errors}");
    }
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let warned = |store: &str, more: &str, word: &str| {
        let policy = format!("limit: {{ quota: 1, window: 1s }}, {more}");
        read(store, &policy).unwrap().warnings.to_string().contains(word)
    };
    assert!(warned(
        REDIS,
        "consistency: local, on_store_failure: deny",
        "`on_store_failure` says nothing"
    ));
    assert!(!warned(REDIS, "on_store_failure: deny", "says nothing"));
    assert!(!warned("", "on_store_failure: deny", "says nothing"));
    assert!(warned(
        REDIS,
        "on_store_failure: deny, local_share: 10%",
        "`local_share` says nothing"
    ));
    assert!(warned("", "local_share: 10%", "`local_share` says nothing"));
    assert!(!warned(
        REDIS,
        "on_store_failure: local, local_share: 10%",
        "says nothing"
    ));
}

/// Whether a strict policy may have this limit, and that a local one may.
fn is_counted(limit: &str) -> bool {
    let policy = format!("limit: {{ {limit} }}, consistency: ");
    assert!(read(REDIS, &format!("{policy}local")).is_ok(), "{limit}");
    match read(REDIS, &format!("{policy}strict")) {
        Ok(_) => true,
        Err(errors) => {
            let errors = errors.to_string();
            assert!(errors.contains("a shared store counts"), "{errors}");
            assert!(errors.contains("or write `consistency: local`"), "{errors}");
            false
        }
    }
}

#[test]
fn limits_that_a_shared_store_cannot_count_exactly_are_refused() {
    assert!(is_counted("quota: 1000000, window: 1s"));
    assert!(!is_counted("quota: 1000001, window: 1s"));
    assert!(is_counted("algorithm: fixed_window, quota: 1, window: 1us"));
    assert!(!is_counted("algorithm: fixed_window, quota: 1, window: 1us500ns"));
    assert!(!is_counted("algorithm: concurrency, slots: 1, ttl: 1500ns"));
    assert!(!is_counted(
        "algorithm: leaky_bucket, quota: 1, window: 1s, max_delay: 1500ns"
    ));
    assert!(is_counted(
        "algorithm: sliding_window, quota: 2251799813685247, window: 1s"
    ));
    assert!(!is_counted(
        "algorithm: sliding_window, quota: 2251799813685248, window: 1s"
    ));
    assert!(is_counted(
        "algorithm: fixed_window, quota: 1, window: 1125899906842624us"
    ));
    assert!(!is_counted(
        "algorithm: fixed_window, quota: 1, window: 1125899906842625us"
    ));
    assert!(is_counted("quota: 1, window: 1125899906842us, burst: 1000"));
    assert!(!is_counted("quota: 1, window: 1125899906842us, burst: 1001"));
    assert!(is_counted("algorithm: fixed_window, quota: 5, window: month"));
}

#[test]
fn tiers_and_overrides_are_held_to_the_same() {
    let tiers = "limit: { quota: 1, window: 1s }, tiers: { pro: { quota: 1000001, window: 1s } }";
    let errors = read(REDIS, tiers).unwrap_err().to_string();
    assert!(errors.contains("at most one unit per microsecond"), "{errors}");
}
