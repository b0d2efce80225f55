//! The status page: what is in force, in words.

use serde_json::{Value, json};
use tidegate_core::{Mode, Timestamp};
use tidegate_policy::{Policy, PolicyLimit, in_words};

use super::overview::{Overview, SharedStore};
use crate::access_log::utc;
use crate::live::Live;
use crate::reload::ReloadStatus;
use crate::token_keys::KeyStatus;
use crate::upstream::{Fleet, ServerReport};

/// The most policies that are listed; the rest is counted.
const MOST_POLICIES: usize = 1000;

/// The most names of a certificate that are listed.
const MOST_NAMES: usize = 20;

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
            "shared": overview.shared_store().map(|store| shared_store(&live, &store)),
        },
        "upstreams": upstreams(&live.fleet),
        "token_keys": live.token_keys.status().iter().map(keys).collect::<Vec<_>>(),
        "certificates": certificates(&live, overview.now()),
        "connections": counts.connections(),
        "requests": {
            "in_flight": counts.in_flight(),
            "waiting": overview.waiting(),
        },
    })
}

/// The store that instances share. What is asked of it is what the file said at the start; its name is that of the file now.
fn shared_store(live: &Live, store: &SharedStore) -> Value {
    let figures = &store.figures;
    json!({
        "name": live.config.store.shared.as_ref().map(ToString::to_string),
        "decides": store.decides,
        "decided": figures.decided,
        "timeouts": figures.timeouts,
        "unavailable": figures.unavailable,
        "calls": figures.calls,
        "servers": figures.servers.iter().map(|server| json!({
            "name": server.name,
            "connected": server.connected,
            "breaker": server.breaker.word(),
        })).collect::<Vec<_>>(),
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

/// The upstreams with their servers, which come in the order of the upstreams.
fn upstreams(fleet: &Fleet) -> Vec<Value> {
    let default = fleet.default_name();
    fleet
        .retries()
        .map(|(name, retries)| {
            let servers = fleet.servers().filter(|report| report.upstream == name);
            json!({
                "name": name,
                "is_default": default == Some(name),
                "retries": retries,
                "servers": servers.map(|report| server(&report)).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn server(report: &ServerReport<'_>) -> Value {
    json!({
        "server": report.server,
        "state": report.condition.word(),
        "requests": report.requests,
        "failures": report.failures,
        "ejections": report.ejections,
    })
}

fn keys(status: &KeyStatus) -> Value {
    json!({
        "issuer": &*status.issuer,
        "keys": status.keys,
        "failing": status.failing,
    })
}

/// The certificates of all listeners, and how long they hold.
fn certificates(live: &Live, now: Timestamp) -> Vec<Value> {
    let listeners = live.config.gateway.listen.iter().zip(&live.tls);
    let certificates = listeners.flat_map(|(listener, tls)| {
        let certificates = tls.iter().flat_map(|tls| tls.certificates());
        certificates.map(|certificate| {
            json!({
                "listener": listener.address.to_string(),
                "names": certificate.names.iter().take(MOST_NAMES).collect::<Vec<_>>(),
                "not_after": utc(certificate.not_after()),
                "days_left": certificate.days_left(now),
            })
        })
    });
    certificates.collect()
}

fn policy(policy: &Policy) -> Value {
    let tiers = policy.tiers.iter();
    let tiers = tiers.map(|(tier, limits)| (tier.to_string(), words(limits)));
    json!({
        "name": &*policy.name,
        "scope": &*policy.scope,
        "consistency": policy.consistency.name(),
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
