//! Policies with expressions: whom they count, by what, and for how much.

mod common;

use common::{Asked, keys, names, set};
use tidegate_core::Cost;
use tidegate_policy::{ExpressionFault, ExpressionField, Identity, PolicySet, Refusal};

/// A set of one policy called `p` with these fields.
fn policy(fields: &str) -> PolicySet {
    set(&format!(
        "policies:\n  - {{ name: p, limit: {{ quota: 9, window: 1s }}, {fields} }}\n"
    ))
}

fn at(path: &str) -> Asked {
    Asked {
        path: path.to_owned(),
        ..Asked::default()
    }
}

fn with_field(name: &'static str, value: &str) -> Asked {
    Asked {
        fields: vec![(name, value.to_owned())],
        ..Asked::default()
    }
}

fn costs(set: &PolicySet, asked: &Asked) -> Vec<u64> {
    asked.plan(set, |plan| {
        plan.charges.iter().map(|charge| charge.cost.units()).collect()
    })
}

#[test]
fn a_policy_counts_the_requests_for_which_when_holds() {
    let set = policy("when: 'request.path.startsWith(\"/a\") && !identity.known', key: [client.ip]");
    assert_eq!(names(&set, &at("/ab")), ["p"]);
    assert_eq!(names(&set, &at("/b")), [""; 0]);
    let known = Asked {
        identity: Identity::of_api_key("ann", None),
        ..at("/ab")
    };
    assert_eq!(names(&set, &known), [""; 0]);
}

#[test]
fn no_spelling_of_a_path_dodges_when() {
    let set = policy("match: { path: /api/** }, when: 'request.path == \"/api/admin\"', key: [client.ip]");
    for path in [
        "/api/admin",
        "/api/%61dmin",
        "//api/admin",
        "/api/x/../admin",
        "/api/admin/",
        "/api%2Fadmin",
    ] {
        assert_eq!(names(&set, &at(path)), ["p"], "{path}");
    }
    assert_eq!(names(&set, &at("/api/user")), [""; 0]);
    // Each policy once, however many readings it holds for.
    let set = policy("when: 'true', key: [client.ip]");
    assert_eq!(names(&set, &at("/a%2Fb/../c;d")), ["p"]);
}

#[test]
fn a_request_costs_what_the_expression_says() {
    let set = policy("cost: 'request.method == \"POST\" ? 5 : 1', key: [client.ip]");
    let post = Asked {
        method: "POST".to_owned(),
        ..Asked::default()
    };
    assert_eq!(costs(&set, &post), [5]);
    assert_eq!(costs(&set, &Asked::default()), [1]);
    let set = policy("cost: 'int(request.headers[\"x-units\"])', key: [client.ip]");
    assert_eq!(costs(&set, &with_field("x-units", "0")), [0]);
    assert_eq!(
        costs(&set, &with_field("x-units", "9223372036854775807")),
        [i64::MAX as u64]
    );
    let set = policy("cost: 'uint(request.headers[\"x-units\"])', key: [client.ip]");
    assert_eq!(
        costs(&set, &with_field("x-units", "18446744073709551615")),
        [u64::MAX]
    );
    assert_eq!(Cost::new(u64::MAX).units(), u64::MAX);
}

#[test]
fn a_cost_that_cannot_be_computed_refuses_or_skips_and_is_told() {
    for (value, fault) in [
        ("-1", ExpressionFault::NegativeCost),
        ("18446744073709551616", ExpressionFault::Conversion),
        ("many", ExpressionFault::Conversion),
    ] {
        let asked = with_field("x-units", value);
        let fields = "cost: 'int(request.headers[\"x-units\"])', key: [client.ip]";
        asked.plan(&policy(fields), |plan| {
            let refusal = plan.refusal;
            let is_right = matches!(
                refusal,
                Some(Refusal::ExpressionFailed {
                    field: ExpressionField::Cost,
                    ..
                })
            );
            assert!(is_right, "{refusal:?}");
            assert!(plan.charges.is_empty());
            assert_eq!(plan.failures.len(), 1);
            assert_eq!(plan.failures[0].fault, fault, "{value}");
        });
        asked.plan(&policy(&format!("{fields}, on_error: skip")), |plan| {
            assert!(plan.refusal.is_none() && plan.charges.is_empty());
            assert_eq!(plan.failures.len(), 1);
        });
    }
}

#[test]
fn a_when_that_cannot_be_computed_refuses_or_skips_and_is_told() {
    let fields = "when: 'request.headers[\"x-plan\"] == \"gold\"', key: [client.ip]";
    for (more, refuses) in [
        ("", true),
        (", on_error: deny", true),
        (", on_error: skip", false),
    ] {
        Asked::default().plan(&policy(&format!("{fields}{more}")), |plan| {
            assert_eq!(plan.refusal.is_some(), refuses, "{more}");
            assert!(plan.charges.is_empty());
            let failures: Vec<_> = plan
                .failures
                .iter()
                .map(|failure| (failure.field, failure.fault))
                .collect();
            assert_eq!(failures, [(ExpressionField::When, ExpressionFault::Absent)]);
        });
    }
    let shadow = policy(&format!("{fields}, mode: shadow"));
    Asked::default().plan(&shadow, |plan| {
        assert!(plan.refusal.is_none());
        assert!(matches!(
            plan.shadow_refusals[..],
            [Refusal::ExpressionFailed { .. }]
        ));
    });
}

#[test]
fn a_part_that_cannot_be_computed_is_missing() {
    let fields = "key: ['request.headers[\"x-a\"] + \"!\"']";
    let absent = Asked::default();
    absent.plan(&policy(fields), |plan| {
        assert!(matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. })));
        // A part that is not there is nothing that went wrong.
        assert!(plan.failures.is_empty());
    });
    let latin = with_field("x-a", "caf\u{e9}");
    absent.plan(&policy(&format!("{fields}, on_missing: skip")), |plan| {
        assert!(plan.refusal.is_none() && plan.charges.is_empty());
    });
    let by_address = policy(&format!("{fields}, on_missing: fallback"));
    assert_eq!(keys(&by_address, &absent).len(), 1);
    assert_ne!(keys(&by_address, &absent), keys(&by_address, &latin));
    let number = policy("key: ['int(request.headers[\"x-a\"])']");
    with_field("x-a", "x").plan(&number, |plan| {
        assert!(matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. })));
        let failures: Vec<_> = plan
            .failures
            .iter()
            .map(|failure| (failure.field, failure.fault))
            .collect();
        assert_eq!(failures, [(ExpressionField::Key, ExpressionFault::Conversion)]);
    });
    // An empty text is missing, as with plain parts.
    with_field("x-a", "").plan(&policy("key: ['request.headers[\"x-a\"]']"), |plan| {
        assert!(matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. })));
    });
}

#[test]
fn values_of_different_kinds_never_share_a_counter_however_they_are_spelt() {
    // One text for the part, so that only the value's kind tells the keys apart.
    let part =
        "{\"text\": 1, \"other\": 2}[request.headers[\"x-a\"]] == 1 ? request.headers[\"x-b\"] : \"7\"";
    let set = policy(&format!("key: ['{part}']"));
    let asked = |a: &str, b: &str| Asked {
        fields: vec![("x-a", a.to_owned()), ("x-b", b.to_owned())],
        ..Asked::default()
    };
    assert_eq!(keys(&set, &asked("text", "7")), keys(&set, &asked("other", "8")));
    assert_ne!(keys(&set, &asked("text", "8")), keys(&set, &asked("other", "8")));

    let identity = |claims: &str| Asked {
        identity: Identity::Known {
            subject: "ann".into(),
            tier: None,
            issuer: Some("issuer".into()),
            claims: serde_json::from_str(claims).ok().map(std::sync::Arc::new),
        },
        ..Asked::default()
    };
    let set = policy("key: ['claims[\"org\"]']");
    let [text, whole, uint, boolean] = [
        r#"{"org": "7"}"#,
        r#"{"org": 7}"#,
        r#"{"org": 18446744073709551615}"#,
        r#"{"org": true}"#,
    ]
    .map(|claims| keys(&set, &identity(claims)));
    for (one, other) in [
        (&text, &whole),
        (&whole, &uint),
        (&text, &boolean),
        (&whole, &boolean),
    ] {
        assert_eq!(one.len(), 1);
        assert_ne!(one, other);
    }
    for claims in [r#"{"org": 1.5}"#, r#"{"org": null}"#, r#"{"org": ["a"]}"#] {
        identity(claims).plan(&set, |plan| {
            assert!(
                matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. })),
                "{claims}"
            );
            assert_eq!(plan.failures[0].fault, ExpressionFault::WrongType);
        });
    }
    identity("{}").plan(&set, |plan| {
        assert!(plan.refusal.is_some() && plan.failures.is_empty())
    });
}

#[test]
fn a_policy_tells_its_expressions_in_words() {
    let set = policy(
        "when: \"!identity.known\", key: ['request.headers[\"x-a\"] + \"!\"'], cost: \"size(request.query)\"",
    );
    assert_eq!(
        &*set.policies()[0].scope,
        "any request when `!identity.known`, counted by `request.headers[\"x-a\"] + \"!\"`, costs `size(request.query)`"
    );
}

#[test]
fn a_path_with_many_readings_does_not_multiply_the_work_of_when() {
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let hundred = [ten; 10].join("+");
    let slow = format!("!({hundred}).all(x, {ten}.all(y, x + y < 100))");
    let set = policy(&format!("when: '{slow}', key: [client.ip], on_error: skip"));
    let faults = |path| {
        at(path).plan(&set, |plan| {
            let faults = plan.failures.iter().map(|failure| failure.fault);
            faults.collect::<Vec<_>>()
        })
    };
    assert_eq!(faults("/a/b"), []);
    assert_eq!(faults("/a%2Fb/../c;d"), [ExpressionFault::TooMuchWork]);
}
