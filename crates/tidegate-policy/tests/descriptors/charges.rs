//! What a call costs, and under which names.

use std::time::Duration;

use tidegate_core::{HoldId, Limit, Mode, Rate, Timestamp};
use tidegate_policy::{Consistency, Descriptor, DescriptorCall, PolicyLimit, PolicySet, Refusal};

use super::{LIMIT, charges, counters, descriptor, keys, now, plan, set};

/// Names of counters that are in stores today.
const WHOLE: &str = "eae6f970318bbd8f454b08ff3a729844";
const ONE: &str = "f8f446ef1adaa65aa7361b7b0266ab50";

/// A set of these policies.
fn shop(policies: &[&str]) -> PolicySet {
    let lines = policies.iter().map(|policy| format!("  - {{ {policy} }}\n"));
    set(&format!("policies:\n{}", lines.collect::<String>()))
}

fn on(name: &str, descriptor: &str) -> String {
    format!("name: {name}, match: {{ domain: shop, descriptor: [{descriptor}] }}")
}

fn counted(name: &str, descriptor: &str) -> String {
    format!("{}, {LIMIT}", on(name, descriptor))
}

/// The names of the policies that charge a call with these descriptors.
fn names(set: &PolicySet, descriptors: &[Descriptor<'_>]) -> Vec<String> {
    let charges = charges(&plan(set, descriptors)).into_iter();
    charges.map(|(name, _)| name).collect()
}

/// A limit as a call brings it.
fn per_minute(quota: u64) -> PolicyLimit {
    let rate = Rate::new(quota, Duration::from_secs(60)).unwrap();
    PolicyLimit::new("brought", Limit::fixed_window(rate))
}

#[test]
fn every_descriptor_is_charged_and_then_the_call() {
    let set = shop(&[
        &format!("name: call, match: {{ domain: shop }}, {LIMIT}"),
        &counted("a", "a"),
        &counted("b", "b"),
        &format!("name: elsewhere, match: {{ domain: other, descriptor: [a] }}, {LIMIT}"),
    ]);
    let descriptors = [
        descriptor(&[("b", "1")]),
        descriptor(&[("c", "1")]),
        descriptor(&[("a", "1")]),
    ];
    let places =
        [("b", Some(0)), ("a", Some(2)), ("call", None)].map(|(name, place)| (name.to_owned(), place));
    assert_eq!(charges(&plan(&set, &descriptors)), places);
    assert_eq!(names(&set, &[]), ["call"]);
    let elsewhere = DescriptorCall {
        domain: "nowhere",
        descriptors: &descriptors,
        hits: None,
    };
    assert!(
        set.plan_descriptors(&elsewhere, HoldId(1), now())
            .plan
            .charges
            .is_empty()
    );
}

#[test]
fn planning_twice_names_the_same_counters() {
    let set = shop(&[&counted("a", "a, b"), &counted("again", "a, b")]);
    let descriptors = [descriptor(&[("a", "1"), ("b", "2")])];
    let first = keys(&plan(&set, &descriptors));
    assert_eq!(first, keys(&plan(&set, &descriptors)));
    assert_ne!(first[0], first[1]);
}

#[test]
fn names_in_the_shared_store_are_the_same_in_every_version() {
    let file = |more: &str| {
        format!(
            "store: redis://a.test\npolicies:\n  - {{ {}, key: [{more}] }}\n",
            counted("a", "a, b")
        )
    };
    let name = |more| counters(&set(&file(more)), &[("a", "1"), ("b", "2")])[0].hash();
    assert_eq!(format!("{:032x}", name("descriptor")), WHOLE);
    assert_eq!(format!("{:032x}", name("descriptor.b")), ONE);
}

#[test]
fn a_key_of_one_entry_counts_all_values_of_the_others_together() {
    for key in [
        "descriptor.b",
        "'descriptor[1]'",
        "'descriptor[\"b\"]'",
        "'descriptors[0].b'",
    ] {
        let set = shop(&[&format!("{}, key: [{key}]", counted("a", "a, b"))]);
        let counter = |a, b| counters(&set, &[("a", a), ("b", b)]);
        assert_eq!(counter("1", "2"), counter("3", "2"), "{key}");
        assert_ne!(counter("1", "2"), counter("1", "3"), "{key}");
        assert_eq!(counter("1", "").len(), 1, "{key}: an empty value is one");
    }
}

#[test]
fn each_hit_costs_what_the_policy_says_and_hits_are_those_of_the_descriptor_else_of_the_call() {
    let set = shop(&[
        &format!("{}, cost: 3", counted("fixed", "a")),
        &format!("{}, cost: 'int(descriptor.b)'", counted("computed", "b")),
        &format!("name: call, match: {{ domain: shop }}, {LIMIT}"),
    ]);
    let costs = |of_call, of_descriptor| {
        let mut descriptors = [descriptor(&[("a", "1")]), descriptor(&[("b", "5")])];
        descriptors
            .iter_mut()
            .for_each(|descriptor| descriptor.hits = of_descriptor);
        let call = DescriptorCall {
            domain: "shop",
            descriptors: &descriptors,
            hits: of_call,
        };
        let planned = set.plan_descriptors(&call, HoldId(1), now());
        let costs = planned.plan.charges.iter().map(|charge| charge.cost.units());
        costs.collect::<Vec<_>>()
    };
    assert_eq!(costs(None, None), [3, 5, 1]);
    assert_eq!(costs(Some(7), None), [21, 35, 7]);
    assert_eq!(costs(Some(7), Some(0)), [0, 0, 7]);
    assert_eq!(costs(None, Some(2)), [6, 10, 1]);
    assert_eq!(costs(Some(u64::MAX), None), [u64::MAX; 3]);
}

#[test]
fn a_policy_that_speaks_replaces_others_in_the_same_call() {
    let set = shop(&[
        &counted("wide", "a"),
        &counted("call", "z").replace(", descriptor: [z]", ""),
        &format!("{}, replaces: [wide, call]", counted("narrow", "b")),
        &format!("{}, limit: unlimited, replaces: narrow", on("free", "c")),
        &format!(
            "{}, when: 'descriptor.d == \"1\"', replaces: wide",
            counted("sometimes", "d")
        ),
    ]);
    let [a, b, c] = ["a", "b", "c"].map(|key| descriptor(&[(key, "1")]));
    assert_eq!(names(&set, std::slice::from_ref(&a)), ["wide", "call"]);
    assert_eq!(names(&set, &[a.clone(), b.clone()]), ["narrow"]);
    // What is replaced replaces all the same.
    assert!(names(&set, &[a.clone(), b, c]).is_empty());
    assert_eq!(
        names(&set, &[a.clone(), descriptor(&[("d", "2")])]),
        ["wide", "call"]
    );
    assert_eq!(
        names(&set, &[a, descriptor(&[("d", "1")])]),
        ["sometimes", "call"]
    );
}

#[test]
fn what_is_unlimited_is_told_and_not_charged() {
    let set = shop(&[
        &format!("{}, limit: unlimited", on("free", "a: x")),
        &format!("{}, limit: unlimited", on("free-too", "a: x")),
        &counted("wide", "a"),
    ]);
    let descriptors = [
        descriptor(&[("a", "y")]),
        descriptor(&[("a", "x")]),
        descriptor(&[("b", "x")]),
    ];
    let planned = plan(&set, &descriptors);
    assert_eq!(charges(&planned), [("wide".to_owned(), Some(0))]);
    assert_eq!(planned.unlimited[..], [1]);
}

#[test]
fn a_limit_that_the_call_brings_takes_the_place_of_the_files() {
    let set = shop(&[
        &format!("{}, mode: shadow, cost: 3", counted("rehearsed", "a")),
        &format!("{}, limit: unlimited", on("free", "c")),
        &format!("{}, replaces: rehearsed", counted("narrow", "d")),
    ]);
    let (five, six) = (per_minute(5), per_minute(6));
    let with = |key, limit| Descriptor {
        limit: Some(limit),
        ..descriptor(&[(key, "1")])
    };
    let descriptors = [
        with("a", &five),
        with("b", &five),
        with("a", &six),
        with("c", &five),
        descriptor(&[("d", "1")]),
    ];
    let planned = plan(&set, &descriptors);
    let quotas = planned
        .plan
        .sources
        .iter()
        .map(|source| source.limit.limit.quota());
    assert_eq!(quotas.collect::<Vec<_>>(), [5, 5, 6, 5, 10]);
    let treated = planned
        .plan
        .charges
        .iter()
        .map(|charge| (charge.mode, charge.cost.units()));
    let (shadow, enforce) = ((Mode::Shadow, 3), (Mode::Enforce, 1));
    assert_eq!(
        treated.collect::<Vec<_>>(),
        [shadow, enforce, shadow, enforce, enforce]
    );
    assert!(planned.unlimited.is_empty());
    let mut different = keys(&planned);
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 5);
    // Where no limit of the file is meant, no meter of the file's counts.
    let indices = planned.plan.sources.iter().map(|source| source.policy_index);
    assert_eq!(indices.collect::<Vec<_>>(), [0, 3, 0, 3, 2]);
    let elsewhere = DescriptorCall {
        domain: "nowhere",
        descriptors: &descriptors,
        hits: None,
    };
    assert!(
        set.plan_descriptors(&elsewhere, HoldId(1), now())
            .plan
            .charges
            .is_empty()
    );
}

#[test]
fn limits_that_calls_bring_count_where_the_file_counts() {
    let file = |more: &str| format!("{more}policies:\n  - {{ {} }}\n", counted("a", "a"));
    let five = per_minute(5);
    let descriptors = [Descriptor {
        limit: Some(&five),
        ..descriptor(&[("b", "1")])
    }];
    let counted = |set: &PolicySet| {
        let planned = plan(set, &descriptors);
        (planned.plan.sources[0].policy.consistency, keys(&planned)[0])
    };
    let (local, shared) = (set(&file("")), set(&file("store: redis://a.test\n")));
    assert_eq!(counted(&local).0, Consistency::Local);
    assert_eq!(counted(&shared).0, Consistency::Strict);
    assert!(shared.asks_shared_store() && !local.asks_shared_store());
    let mut secret = shared.clone();
    secret.name_shared_under(b"secret");
    assert_ne!(counted(&secret).1, counted(&shared).1);
}

#[test]
fn a_call_meets_sixteen_limits_and_no_more() {
    let set = shop(&[&counted("a", "a")]);
    let descriptors = vec![descriptor(&[("a", "1")]); 17];
    assert_eq!(plan(&set, &descriptors[..16]).plan.charges.len(), 16);
    for count in [17, 1000] {
        let descriptors = vec![descriptor(&[("a", "1")]); count];
        let planned = plan(&set, &descriptors);
        assert!(matches!(planned.plan.refusal, Some(Refusal::TooManyLimits)));
        assert!(planned.plan.charges.is_empty() && planned.places.is_empty());
    }
}

#[test]
fn a_call_that_lacks_a_part_is_treated_as_the_policy_says() {
    let policy = |more: &str| shop(&[&format!("name: a, match: {{ domain: shop }}, {more}, {LIMIT}")]);
    let by_user = "key: ['descriptors[0].user']";
    let skipping = policy(&format!("{by_user}, on_missing: skip"));
    for descriptors in [vec![], vec![descriptor(&[("other", "1")])]] {
        let planned = plan(&skipping, &descriptors);
        assert!(planned.plan.charges.is_empty() && planned.plan.refusal.is_none());
        // A key that is not there is no failure; a descriptor that is not there is one.
        assert_eq!(planned.plan.failures.is_empty(), !descriptors.is_empty());
        let denying = policy(by_user);
        let planned = plan(&denying, &descriptors);
        assert!(matches!(
            planned.plan.refusal,
            Some(Refusal::MissingKeyPart { .. })
        ));
    }
    // Of a key that comes twice, the last counts, as in a map.
    let twice = [descriptor(&[("user", "1"), ("user", "2")])];
    let once = [descriptor(&[("user", "2")])];
    assert_eq!(keys(&plan(&skipping, &twice)), keys(&plan(&skipping, &once)));

    let when = "when: 'descriptors[0].method == \"POST\" && domain == \"shop\"'";
    let skipping = policy(&format!("{when}, on_error: skip"));
    let posts = [descriptor(&[("method", "POST")])];
    assert_eq!(names(&skipping, &posts), ["a"]);
    assert!(names(&skipping, &[descriptor(&[("method", "GET")])]).is_empty());
    let other = [descriptor(&[("other", "1")])];
    let planned = plan(&skipping, &other);
    assert!(planned.plan.refusal.is_none() && planned.plan.failures.len() == 1);
    let denying = policy(when);
    assert!(matches!(
        plan(&denying, &other).plan.refusal,
        Some(Refusal::ExpressionFailed { .. })
    ));
}

#[test]
fn policies_about_calls_and_about_requests_do_not_meet() {
    let set = shop(&[
        &counted("call", "a"),
        &format!("name: request, key: client.ip, {LIMIT}"),
    ]);
    let asked = super::common::Asked::default();
    assert_eq!(super::common::names(&set, &asked), ["request"]);
    assert_eq!(names(&set, &[descriptor(&[("a", "1")])]), ["call"]);
    let only_calls = shop(&[&counted("call", "a")]);
    let unreadable = super::common::Asked {
        path: format!("/%61{}", "/".repeat(200)),
        ..super::common::Asked::default()
    };
    unreadable.plan(&only_calls, |plan| assert!(plan.refusal.is_none()));
    unreadable.plan(&set, |plan| assert!(plan.refusal.is_some()));
}

#[test]
fn a_schedule_closes_policies_about_calls_too() {
    let set = shop(&[&format!(
        "{}, schedule: {{ hours: '00:00-01:00' }}",
        counted("a", "a")
    )]);
    let descriptors = [descriptor(&[("a", "1")])];
    let call = DescriptorCall {
        domain: "shop",
        descriptors: &descriptors,
        hits: None,
    };
    let charged = |hour: u64| {
        let at = Timestamp::from_nanos(hour * 3600 * 1_000_000_000);
        set.plan_descriptors(&call, HoldId(1), at).plan.charges.len()
    };
    assert_eq!((charged(0), charged(2)), (1, 0));
}

#[test]
fn limits_that_calls_bring_are_counted_for_each_domain() {
    let in_domain =
        |domain: &str| format!("name: {domain}, match: {{ domain: {domain} }}, when: 'false', {LIMIT}");
    let set = shop(&[&in_domain("one"), &in_domain("two")]);
    let five = per_minute(5);
    let descriptors = [Descriptor {
        limit: Some(&five),
        ..descriptor(&[("b", "1")])
    }];
    let counter = |domain| {
        let call = DescriptorCall {
            domain,
            descriptors: &descriptors,
            hits: None,
        };
        keys(&set.plan_descriptors(&call, HoldId(1), now()))[0]
    };
    assert_eq!(counter("one"), counter("one"));
    assert_ne!(counter("one"), counter("two"));
}
