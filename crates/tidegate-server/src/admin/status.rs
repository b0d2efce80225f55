//! The status page: what is in force, in words.

use serde_json::{Value, json};
use tidegate_core::Mode;
use tidegate_policy::{Policy, PolicyLimit, in_words};

use super::overview::Overview;
use crate::access_log::utc;
use crate::reload::ReloadStatus;

/// The most policies that are listed; the rest is counted.
const MOST_POLICIES: usize = 1000;

/// Everything worth a look, as one object.
pub(super) fn status(overview: &Overview) -> Value {
    let live = overview.live();
    let policies = live.config.policies.policies();
    let usage = overview.usage();
    let counts = overview.counts();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "phase": overview.phase().word(),
        "ready": overview.unready().is_none(),
        "uptime_seconds": overview.uptime_seconds(),
        "configuration": configuration(&overview.reloads()),
        "policies": policies.iter().take(MOST_POLICIES).map(policy).collect::<Vec<_>>(),
        "policies_total": policies.len(),
        "store": {
            "kind": "memory",
            "buckets": overview.live_buckets(),
            "bucket_bytes": usage.bucket_bytes,
            "bucket_evictions": usage.bucket_evictions,
            "ledger_entries": usage.ledger_entries,
            "ledger_bytes": usage.ledger_bytes,
            "ledger_evictions": usage.ledger_evictions,
        },
        "connections": counts.connections(),
        "requests": {
            "in_flight": counts.in_flight(),
            "waiting": overview.waiting(),
        },
    })
}

fn configuration(status: &ReloadStatus) -> Value {
    let failure = status.failure.as_ref();
    json!({
        "generation": status.generation,
        "checksum": status.checksum,
        "loaded_at": utc(status.loaded_at),
        "reload_failures": status.failures,
        "last_error": failure.map(|failure| json!({
            "at": utc(failure.at),
            "message": failure.message,
        })),
        "needs_restart": status.needs_restart,
    })
}

fn policy(policy: &Policy) -> Value {
    let tiers = policy.tiers.iter();
    let tiers = tiers.map(|(tier, limits)| (tier.to_string(), words(limits)));
    json!({
        "name": &*policy.name,
        "scope": &*policy.scope,
        "mode": match policy.mode {
            Mode::Enforce => "enforce",
            Mode::Shadow => "shadow",
        },
        "limits": words(&policy.limits),
        "tiers": tiers.collect::<serde_json::Map<_, _>>(),
    })
}

fn words(limits: &[PolicyLimit]) -> Value {
    limits
        .iter()
        .map(|limit| in_words(&limit.limit).to_string())
        .collect()
}
