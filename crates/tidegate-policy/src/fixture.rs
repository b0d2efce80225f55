//! Policies and plans for tests, without a file.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Version};
use tidegate_core::{Charge, Cost, Decision, Decisions, HoldId, Key, Limit, Mode, Outcome, Rate};

use crate::{Consistency, OnStoreFailure, Plan, Policy, PolicyLimit, Request, Share, Source};

/// A rate per so many milliseconds.
pub(crate) fn rate(quota: u64, window_ms: u64) -> Rate {
    Rate::new(quota, Duration::from_millis(window_ms)).unwrap()
}

/// A policy with one token bucket.
pub(crate) fn bucket(name: &str, quota: u64, window_ms: u64, burst: u64) -> Policy {
    policy(name, Limit::token_bucket(rate(quota, window_ms), burst).unwrap())
}

/// A policy with this limit, which enforces.
pub(crate) fn policy(name: &str, limit: Limit) -> Policy {
    Policy {
        name: name.into(),
        scope: "any request, counted by client.ip".into(),
        mode: Mode::Enforce,
        cost: Cost::ONE,
        expressions: vec![],
        consistency: Consistency::Strict,
        on_store_failure: OnStoreFailure::Allow,
        local_share: Share::default(),
        limits: vec![PolicyLimit::new(name, limit)],
        tiers: vec![],
        overrides: vec![],
        reject: None,
    }
}

/// A request's plan under the first limit of each policy, every policy with a counter of its own.
pub(crate) fn plan(policies: &[Policy]) -> Plan<'_> {
    let mut plan = Plan::default();
    for (policy_index, policy) in policies.iter().enumerate() {
        let limit = &policy.limits[0];
        plan.charges.push(Charge {
            key: Key::from_hash(u128::MAX / 7 * (policy_index as u128 + 1)),
            limit: &limit.limit,
            cost: policy.cost,
            mode: policy.mode,
            hold: HoldId(0),
        });
        plan.sources.push(Source {
            policy,
            policy_index,
            limit,
            limit_index: 0,
            terms: crate::Terms::Own,
        });
    }
    plan
}

/// The decisions of a store on as many charges.
pub(crate) fn decisions<const N: usize>(each: [Decision; N]) -> Decisions {
    Decisions {
        charged: each.iter().all(|decision| decision.outcome.passes()),
        each: each.into_iter().collect(),
    }
}

pub(crate) fn allow(remaining: u64, reset_after_ms: u64) -> Decision {
    decision(Outcome::ALLOW, remaining, reset_after_ms)
}

pub(crate) fn deny(remaining: u64, retry_after_ms: u64, reset_after_ms: u64) -> Decision {
    let retry_after = Duration::from_millis(retry_after_ms);
    decision(Outcome::Deny { retry_after }, remaining, reset_after_ms)
}

pub(crate) fn decision(outcome: Outcome, remaining: u64, reset_after_ms: u64) -> Decision {
    Decision {
        outcome,
        remaining,
        reset_after: Duration::from_millis(reset_after_ms),
    }
}

/// Header fields from pairs.
pub(crate) fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        fields.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    fields
}

/// A GET of `/` with these header fields.
pub(crate) fn get(headers: &HeaderMap) -> Request<'_> {
    Request {
        method: &Method::GET,
        version: Version::HTTP_11,
        host: "example.org",
        path: "/",
        query: None,
        headers,
        client: std::net::Ipv4Addr::LOCALHOST.into(),
        tls: None,
        body: &crate::Body::UNREAD,
    }
}

/// Header fields as lines, sorted by name, for comparison with the expected text.
pub(crate) fn lines(fields: &HeaderMap) -> String {
    let mut lines: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines.concat()
}
