//! How much a file can say of calls.

use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, compile};

use super::LIMIT;

/// Whether a file of these policies, each without its limit, can be used.
fn is_taken(policies: &[String]) -> bool {
    let lines = policies
        .iter()
        .map(|policy| format!("  - {{ {policy}, {LIMIT} }}\n"));
    let text = &format!("policies:\n{}", lines.collect::<String>());
    let name = "bounds.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16])).is_ok()
}

/// A policy about descriptors whose entries are `levels`.
fn on(name: usize, levels: &str) -> String {
    format!("name: p{name}, match: {{ domain: shop, descriptor: [{levels}] }}")
}

#[test]
fn a_descriptor_has_at_most_sixteen_entries() {
    let of = |count: usize| vec![on(0, &vec!["a"; count].join(", "))];
    assert!(is_taken(&of(16)));
    assert!(!is_taken(&of(17)));
}

#[test]
fn domains_keys_and_values_have_at_most_1024_bytes() {
    for taken in [true, false] {
        let text = "a".repeat(if taken { 1024 } else { 1025 });
        for policy in [
            on(0, &text),
            on(0, &format!("{{ a: {text} }}")),
            format!("name: p, match: {{ domain: {text} }}"),
        ] {
            assert_eq!(is_taken(&[policy]), taken);
        }
    }
}

#[test]
fn a_value_has_at_most_sixteen_stars() {
    let of = |count: usize| vec![on(0, &format!("{{ a: '{}' }}", "*".repeat(count)))];
    assert!(is_taken(&of(16)));
    assert!(!is_taken(&of(17)));
}

#[test]
fn an_entry_is_tried_against_at_most_128_values_with_a_star() {
    let of = |count: usize| -> Vec<String> {
        let policies = (0..count).map(|number| on(number, &format!("b, {{ a: '{number}*' }}")));
        policies.collect()
    };
    assert!(is_taken(&of(128)));
    assert!(!is_taken(&of(129)));
    // Elsewhere, or the same once more, is none more.
    let mut beside = of(128);
    beside.push(on(1000, "c, { a: 'x*' }"));
    beside.push(on(1001, "b, { a: '0*' }"));
    assert!(is_taken(&beside));
}

#[test]
fn a_policy_replaces_at_most_64_others() {
    let of = |count: usize| -> Vec<String> {
        let others = (1..=count).map(|number| on(number, "a"));
        let names: Vec<String> = (1..=count).map(|number| format!("p{number}")).collect();
        let first = format!("{}, replaces: [{}]", on(0, "b"), names.join(", "));
        others.chain([first]).collect()
    };
    assert!(is_taken(&of(64)));
    assert!(!is_taken(&of(65)));
}

/// `count` policies about calls to `shop`: `more` says which, and what else.
fn many(count: usize, more: &str) -> Vec<String> {
    let policy = |number| format!("name: {}-{number}, match: {{ domain: shop{more}", more.len());
    (0..count).map(policy).collect()
}

#[test]
fn policies_that_speak_about_every_call_of_a_domain_have_at_most_sixteen_limits() {
    let whole = |count| many(count, " }");
    assert!(is_taken(&whole(16)));
    assert!(!is_taken(&whole(17)));
    let mut elsewhere = whole(16);
    elsewhere.push("name: p, match: { domain: other }".to_owned());
    assert!(is_taken(&elsewhere));
}

#[test]
fn policies_that_speak_about_one_descriptor_have_at_most_sixteen_limits_with_those_of_every_call() {
    let path = |count| many(count, ", descriptor: [a, { b: c }] }");
    assert!(is_taken(&path(16)));
    assert!(!is_taken(&path(17)));
    let apart = [path(16), many(16, ", descriptor: [a] }")].concat();
    assert!(is_taken(&apart));
    let both = |of_path| [path(of_path), many(8, " }")].concat();
    assert!(is_taken(&both(8)));
    assert!(!is_taken(&both(9)));
}

#[test]
fn policies_that_need_not_speak_are_warned_of_alone() {
    let warnings = |policies: &[String]| {
        let lines = policies
            .iter()
            .map(|policy| format!("  - {{ {policy}, {LIMIT} }}\n"));
        let text = &format!("policies:\n{}", lines.collect::<String>());
        let name = "bounds.yaml";
        let compiled = compile(PolicyFile { name, text }, &KeyHasher::new([0; 16])).expect("it can be used");
        compiled.warnings.to_string()
    };
    for may_not in [
        " }, when: 'descriptors[0].method == \"GET\"'",
        " }, key: ['descriptors[0].user'], on_missing: skip",
        ", descriptor: [a] }, when: 'descriptor.a == \"1\"'",
    ] {
        assert_eq!(warnings(&many(16, may_not)), "", "{may_not}");
        let told = warnings(&many(17, may_not));
        assert!(told.contains("more than 16 limits"), "{may_not}: {told}");
    }
    // One of them is always replaced where the others speak.
    let mut replaced = many(16, ", descriptor: [a] }");
    replaced.push("name: gone, match: { domain: shop, descriptor: [a] }".to_owned());
    replaced[0] += ", replaces: [gone]";
    assert!(is_taken(&replaced));
}
