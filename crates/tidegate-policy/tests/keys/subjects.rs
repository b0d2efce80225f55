//! Counters of subjects: by identity, tier, override, issuer and claims.

use super::*;

#[test]
fn nobody_in_particular_is_counted_by_address_and_is_no_subject() {
    let set = counting_by("[identity]", "");
    let anonymous = keys(&set, &from("192.0.2.1"));
    assert_eq!(anonymous.len(), 1);
    assert_ne!(anonymous, keys(&set, &from("192.0.2.2")));
    let ann = Asked {
        identity: known("ann", None),
        ..from("192.0.2.1")
    };
    let ann_elsewhere = Asked {
        identity: known("ann", None),
        ..from("192.0.2.2")
    };
    assert_eq!(keys(&set, &ann), keys(&set, &ann_elsewhere));
    assert_ne!(keys(&set, &ann), anonymous);
}

#[test]
fn a_tier_is_the_one_that_the_policy_names_or_none() {
    let set = counting_by("[identity]", "tiers: { pro: { quota: 99, window: 1s } }");
    let tiers = |tier| {
        let asked = Asked {
            identity: known("ann", tier),
            ..Asked::default()
        };
        asked.plan(&set, |plan| {
            (
                plan.sources[0].terms.tier().map(str::to_owned),
                plan.charges[0].limit.quota(),
            )
        })
    };
    assert_eq!(tiers(Some("pro")), (Some("pro".to_owned()), 99));
    assert_eq!(tiers(Some("unheard-of")), (None, 9));
}

#[test]
fn two_tiers_of_one_subject_never_take_turns_on_one_counter() {
    let text = |quota: u64, window: &str, burst: u64| {
        format!("{{ quota: {quota}, window: {window}, burst: {burst} }}")
    };
    let set = set(&format!(
        "policies: [{{ name: api, key: [identity], limit: {}, tiers: {{ pro: {} }} }}]",
        text(60, "1m", 5),
        text(1000, "1h", 1000),
    ));
    let table = Table::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 0,
    });
    let mut admitted = 0;
    for millisecond in 0..10_000 {
        let now = Timestamp::from_nanos(1_800_000_000_000_000_000 + millisecond * 1_000_000);
        let asked = Asked {
            identity: known("ann", (millisecond % 2 == 0).then_some("pro")),
            ..Asked::default()
        };
        admitted += asked.plan(&set, |plan| u64::from(table.charge(&plan.charges, now).charged));
    }
    // Each limit's burst and what comes back in 10 s: 5 + 10, and 1,000 + 2.
    assert!(admitted <= 15 + 1002, "{admitted} were admitted");
}

#[test]
fn tiers_that_share_an_address_have_counters_of_their_own() {
    let limit = "{ quota: 99, window: 1s }";
    let set = counting_by("[client.ip]", &format!("tiers: {{ pro: {limit}, max: {limit} }}"));
    let as_tier = |tier| {
        let identity = known("ann", tier);
        let asked = Asked {
            identity,
            ..Asked::default()
        };
        keys(&set, &asked)
    };
    assert_ne!(as_tier(None), as_tier(Some("pro")));
    assert_ne!(as_tier(Some("max")), as_tier(Some("pro")));
}

#[test]
fn an_override_takes_the_place_of_the_tier_until_its_moment() {
    let set = counting_by(
        "[identity]",
        "tiers: { pro: { quota: 99, window: 1s } }, overrides: [{ subject: zoe, until: 2030-01-01, limit: { quota: 5, window: 1s } }, { subject: ann, until: 2027-01-15T08:00:00.000000001Z, limits: [{ quota: 7, window: 1s }, { quota: 70, window: 1h }], reason: exam week }]",
    );
    let quotas = |subject, now_ns| {
        let asked = Asked {
            identity: known(subject, Some("pro")),
            now: Timestamp::from_nanos(now_ns),
            ..Asked::default()
        };
        asked.plan(&set, |plan| -> Vec<u64> {
            plan.charges.iter().map(|charge| charge.limit.quota()).collect()
        })
    };
    let end = 1_800_000_000_000_000_001;
    assert_eq!(quotas("ann", end - 1), [7, 70]);
    assert_eq!(quotas("ann", end), [99]);
    assert_eq!(quotas("zoe", end), [5]);
    assert_eq!(quotas("bob", end - 1), [99]);
}

#[test]
fn an_override_has_counters_of_its_own() {
    let set = counting_by(
        "[client.ip]",
        "overrides: [{ subject: ann, until: 2027-01-16, limit: { quota: 7, window: 1s } }]",
    );
    let keys_of = |identity, now_ns| {
        let asked = Asked {
            identity,
            now: Timestamp::from_nanos(now_ns),
            ..Asked::default()
        };
        keys(&set, &asked)
    };
    let before = 1_800_000_000_000_000_000;
    let own = keys_of(Identity::Anonymous, before);
    assert_ne!(keys_of(known("ann", None), before), own);
    assert_eq!(keys_of(known("ann", None), before + 86_400_000_000_000), own);
}

#[test]
fn an_override_of_an_issuer_is_for_its_people_alone_and_comes_before_that_of_any() {
    let limit = |quota: u64| format!("limit: {{ quota: {quota}, window: 1s }} }}");
    let overrides = format!(
        "overrides: [{{ subject: ann, until: 2027-01-16, {}, {{ subject: ann, issuer: b, until: 2027-01-15T08:00:00.000000001Z, {}, {{ subject: ann, issuer: c, until: 2027-01-16, {}, {{ subject: zoe, issuer: b, until: 2027-01-16, {}]",
        limit(20),
        limit(30),
        limit(40),
        limit(50),
    );
    let set = set(&format!(
        "identity: {{ jwt: [{}] }}\npolicies: [{{ name: api, key: [client.ip], {}, {overrides} }}]",
        ["a", "b", "c"].map(issuer).join(", "),
        limit(10).trim_end_matches('}'),
    ));
    let quota_and_key = |issuer, subject, now_ns| {
        let asked = Asked {
            identity: named_by(issuer, subject),
            now: Timestamp::from_nanos(now_ns),
            ..Asked::default()
        };
        asked.plan(&set, |plan| (plan.charges[0].limit.quota(), plan.charges[0].key))
    };
    let end = 1_800_000_000_000_000_001;
    let quota = |issuer, subject, now_ns| quota_and_key(issuer, subject, now_ns).0;
    assert_eq!(quota(None, "ann", end - 1), 20);
    assert_eq!(quota(Some("a"), "ann", end - 1), 20);
    assert_eq!(quota(Some("b"), "ann", end - 1), 30);
    assert_eq!(quota(Some("b"), "ann", end), 20, "what is for all goes on");
    assert_eq!(quota(Some("c"), "ann", end), 40);
    assert_eq!(quota(Some("b"), "zoe", end), 50);
    assert_eq!(quota(None, "zoe", end), 10, "API keys have no issuer");
    assert_eq!(quota(Some("a"), "zoe", end), 10);
    // All come from one address, which the policy counts by.
    let each = [
        (Some("b"), "ann"),
        (Some("c"), "ann"),
        (None, "ann"),
        (None, "zoe"),
    ];
    let counters = each.map(|(issuer, subject)| quota_and_key(issuer, subject, end - 1).1);
    let different: std::collections::HashSet<_> = counters.into_iter().collect();
    assert_eq!(different.len(), each.len());
}

#[test]
fn an_entry_with_an_issuer_is_about_its_people_alone() {
    let set = set(&format!(
        "identity: {{ jwt: [{}] }}\npolicies: [{{ name: api, key: [client.ip], limit: {{ quota: 9, window: 1s }}, exempt: [{{ subject: ann, issuer: b }}, {{ subject: ann, issuer: a, until: 2027-01-15T08:00:00Z }}, {{ subject: bob }}] }}]",
        ["a", "b"].map(issuer).join(", "),
    ));
    let counted = |issuer, subject| {
        let asked = Asked {
            identity: named_by(issuer, subject),
            ..Asked::default()
        };
        !keys(&set, &asked).is_empty()
    };
    assert!(!counted(Some("b"), "ann"));
    assert!(counted(Some("a"), "ann"), "that has ended");
    assert!(counted(None, "ann") && counted(Some("b"), "anna"));
    assert!(!counted(None, "bob") && !counted(Some("a"), "bob"));
}

#[test]
fn a_policy_does_not_count_whom_it_exempts() {
    let set = counting_by(
        "[client.ip]",
        "exempt: [192.0.2.0/24, { subject: ann }, { cidr: 198.51.100.1, until: 2027-01-15T08:00:00Z }]",
    );
    let counted = |client: &str, identity| {
        let asked = Asked {
            client: client.parse().unwrap(),
            identity,
            ..Asked::default()
        };
        keys(&set, &asked).len()
    };
    assert_eq!(counted("192.0.2.9", Identity::Anonymous), 0);
    assert_eq!(counted("203.0.113.9", known("ann", None)), 0);
    assert_eq!(counted("203.0.113.9", known("bob", None)), 1);
    assert_eq!(counted("198.51.100.1", Identity::Anonymous), 1, "that has ended");
}

#[test]
fn the_subjects_of_two_issuers_and_of_an_api_key_never_share_a_counter() {
    let set = counting_by("[identity]", "");
    let of = |subject, issuer| Asked {
        identity: named_by(issuer, subject),
        ..Asked::default()
    };
    let key = |asked: &Asked| keys(&set, asked)[0];
    let each = [
        of("acme", None),
        of("acme", Some("https://a.test")),
        of("acme", Some("https://b.test")),
        of("macme", Some("https://a.tes")),
    ];
    for (index, one) in each.iter().enumerate() {
        assert_eq!(key(one), key(one));
        for other in &each[index + 1..] {
            assert_ne!(key(one), key(other));
        }
    }
}

#[test]
fn claims_are_counted_by_issuer_and_kind_and_what_is_no_single_value_is_missing() {
    let set = counting_by("[claims.org.id]", "");
    let of = |issuer: &str, id: serde_json::Value| {
        let claims = serde_json::json!({ "org": { "id": id } });
        Asked {
            identity: Identity::Known {
                subject: "ann".into(),
                tier: None,
                issuer: Some(issuer.into()),
                claims: serde_json::from_value(claims).ok().map(std::sync::Arc::new),
            },
            ..Asked::default()
        }
    };
    let each = [
        of("a", "7".into()),
        of("a", 7.into()),
        of("a", true.into()),
        of("a", "true".into()),
        of("b", "7".into()),
    ];
    let different: std::collections::HashSet<_> = each.iter().map(|asked| keys(&set, asked)[0]).collect();
    assert_eq!(different.len(), each.len());
    for missing in [
        of("a", serde_json::Value::Null),
        of("a", "".into()),
        of("a", serde_json::json!(["7"])),
        Asked::default(),
    ] {
        missing.plan(&set, |plan| {
            assert!(matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. })));
        });
    }
}

/// The settings of an issuer called `name`.
fn issuer(name: &str) -> String {
    format!("{{ issuer: {name}, audience: api, algorithms: [RS256], jwks: {name}.json }}")
}

/// Whom `issuer` calls `subject`; no issuer is an API key.
fn named_by(issuer: Option<&str>, subject: &str) -> Identity {
    Identity::Known {
        subject: subject.into(),
        tier: None,
        issuer: issuer.map(Into::into),
        claims: None,
    }
}
