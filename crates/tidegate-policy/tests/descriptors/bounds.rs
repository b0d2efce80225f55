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
