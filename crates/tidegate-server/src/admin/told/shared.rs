//! The shared store in a scrape. Without one all is 0.

use std::fmt;

use tidegate_store::redis::{BreakerState, FAULTS, Figures, LATENCY_BOUNDS_US, ServerFigures};

use super::super::overview::SharedStore;
use crate::metrics::{Bounds, Page, Reading};

/// What servers that are not connected count as, whatever their breaker says.
const DISCONNECTED: &str = "disconnected";

/// What each server of the store is one of.
const STATES: [&str; 4] = [
    BreakerState::Closed.word(),
    BreakerState::Open.word(),
    BreakerState::HalfOpen.word(),
    DISCONNECTED,
];

pub(super) fn tell(store: Option<&SharedStore>, page: &mut Page<'_>) -> fmt::Result {
    page.gauge(
        (
            "tidegate_store_degraded",
            "1 while the shared store does not decide and each policy goes its own way, else 0",
        ),
        u64::from(store.is_some_and(|store| !store.decides)),
    )?;
    let figures = store.map(|store| &store.figures);
    counters(figures, page)?;
    page.counters(
        (
            "tidegate_store_faults",
            "Calls to the shared store and connections to it that failed, each try counted",
        ),
        "fault",
        &FAULTS,
        |word| figures.map_or(0, |figures| faults(figures, word)),
    )?;
    let servers = figures.map_or(&[][..], |figures| &figures.servers);
    let mut states = page.gauges(
        "tidegate_store_servers",
        "Servers of the shared store that are known, by whether they are asked",
    )?;
    for word in STATES {
        let count = servers.iter().filter(|server| state(server) == word).count();
        states.gauge([("state", word)], count as u64)?;
    }
    page.histogram(
        (
            "tidegate_store_decision_duration_seconds",
            "How long requests waited for decisions of the shared store",
        ),
        &BOUNDS,
        figures.map(durations).unwrap_or_default(),
    )
}

fn counters(figures: Option<&Figures>, page: &mut Page<'_>) -> fmt::Result {
    type Of = fn(&Figures) -> u64;
    let counters: [(&str, &str, Of); 7] = [
        (
            "tidegate_store_decisions",
            "Requests that the shared store has decided on",
            |figures| figures.decided,
        ),
        (
            "tidegate_store_remembered_refusals",
            "Requests that were refused without a call, because the last refusal still held",
            |figures| figures.remembered,
        ),
        (
            "tidegate_store_calls",
            "Calls to the shared store for decisions: requests share calls",
            |figures| figures.calls,
        ),
        (
            "tidegate_store_retries",
            "Calls that were tried again, because another server has the keys or a server was not ready",
            |figures| figures.retries,
        ),
        (
            "tidegate_store_overloads",
            "Requests that found too many waiting for the shared store",
            |figures| figures.overloaded,
        ),
        (
            "tidegate_store_connections_opened",
            "Connections made to servers of the shared store",
            |figures| figures.connections,
        ),
        (
            "tidegate_store_breaker_openings",
            "How often a server of the shared store was left alone because it failed too often",
            |figures| figures.openings,
        ),
    ];
    for (name, help, of) in counters {
        page.counter((name, help), figures.map_or(0, of))?;
    }
    Ok(())
}

fn faults(figures: &Figures, word: &str) -> u64 {
    let mut counts = FAULTS.iter().zip(figures.faults);
    let count = counts.find(|(known, _)| **known == word);
    count.map_or(0, |(_, count)| count)
}

fn state(server: &ServerFigures) -> &'static str {
    if server.connected {
        server.breaker.word()
    } else {
        DISCONNECTED
    }
}

/// Those of the store, in nanoseconds.
const BOUNDS: Bounds = {
    let mut bounds = LATENCY_BOUNDS_US;
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] *= 1_000;
        index += 1;
    }
    bounds
};

fn durations(figures: &Figures) -> Reading {
    Reading {
        buckets: figures.latencies,
        nanos: u64::try_from(figures.latency_sum.as_nanos()).unwrap_or(u64::MAX),
    }
}
