//! How much a policy file may hold, and how much is said about it.

use tidegate_core::{KeyHasher, Timestamp};
use tidegate_policy::{Compiled, PolicyFile, Problems, compile};

fn compiled(text: &str) -> Result<Compiled, Problems> {
    let name = "bounds.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
}

/// As many policies with paths of their own, with `more` in each.
fn policies(count: usize, more: &str) -> String {
    let policy = |number| {
        format!(
            "- {{ name: p{number}, match: {{ path: /p{number} }}, key: [client.ip{more}], limit: {{ quota: 1, window: 1s }} }}\n"
        )
    };
    format!("policies:\n{}", (0..count).map(policy).collect::<String>())
}

#[test]
fn an_error_behind_a_hundred_warnings_is_told_and_keeps_the_file_from_being_used() {
    let warnings = policies(150, ", identity");
    assert_eq!(compiled(&warnings).unwrap().warnings.len(), 100);
    let wrong =
        "- { name: last, match: { path: last }, key: [client.ip], limit: { quota: 1, window: 1s } }\n";
    let problems = compiled(&(warnings + wrong)).unwrap_err();
    assert!(problems.has_errors());
    assert!(
        problems.to_string().contains("`last` is not a path pattern"),
        "{problems}"
    );
    assert!(problems.to_string().ends_with("and 51 more"), "{problems}");
}

#[test]
fn the_limits_of_an_override_count_towards_the_sixteen_of_a_request() {
    let with = |count: usize| {
        let limits = vec!["{ quota: 1, window: 1s }"; count].join(", ");
        compiled(&policies(
            1,
            &format!("], overrides: [{{ subject: a, until: 2099-01-01, limits: [{limits}] }}"),
        ))
    };
    assert!(with(16).is_ok());
    let problems = with(17).unwrap_err();
    assert!(problems.to_string().contains("more than 16 limits"), "{problems}");
}

#[test]
fn what_has_ended_is_warned_of_from_its_moment_on() {
    let text = format!(
        "access: {{ deny: [{{ cidr: 192.0.2.1, until: 1970-01-02 }}] }}\n{}",
        policies(1, "], exempt: [{ cidr: 192.0.2.1, until: 1970-01-03 }")
    );
    let compiled = compiled(&text).unwrap();
    let day = 86_400_000_000_000;
    for (now, ended) in [(day - 1, 0), (day, 1), (2 * day - 1, 1), (2 * day, 2)] {
        let warnings = compiled.warnings_at(Timestamp::from_nanos(now));
        assert_eq!(warnings.len(), ended, "{warnings}");
    }
}

#[test]
fn a_hundred_problems_are_told_and_the_rest_counted() {
    let text = policies(130, ", nonsense");
    let problems = compiled(&text).unwrap_err();
    assert_eq!(problems.len(), 100);
    assert!(problems.to_string().ends_with("and 30 more"), "{problems}");
}

#[test]
fn each_bound_holds_at_its_edge() {
    let parts = |count: usize| {
        let names: String = (1..count).map(|number| format!(", header.x-{number}")).collect();
        policies(1, &names)
    };
    let tiers = |count: usize| {
        let tiers: String = (0..count)
            .map(|number| format!("t{number}: {{ quota: 1, window: 1s }}, "))
            .collect();
        format!(
            "policies: [{{ name: p, key: [client.ip], limit: {{ quota: 1, window: 1s }}, tiers: {{ {tiers} }} }}]"
        )
    };
    let fields = |count: usize| {
        let fields: String = (0..count).map(|number| format!("c{number}: x, ")).collect();
        format!(
            "policies: [{{ name: p, match: {{ cookies: {{ {fields} }} }}, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}]"
        )
    };
    for (most, fits, beyond, message) in [
        (16, parts(16), parts(17), "at most 16 parts"),
        (64, tiers(64), tiers(65), "at most 64 tiers"),
        (1000, fields(1000), fields(1001), "at most 1000 fields"),
        (
            10_000,
            policies(10_000, ""),
            policies(10_001, ""),
            "at most 10000 policies",
        ),
    ] {
        if let Err(problems) = compiled(&fits) {
            panic!("{most}: {problems}");
        }
        let problems = compiled(&beyond).unwrap_err().to_string();
        assert!(problems.contains(message), "{most}: {problems}");
    }
}
