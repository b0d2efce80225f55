//! What one worker counts.

use super::count::{Bounds, Count, Histogram, Reading};
use super::family::{ASKING_DOORS, CLASSES, Family, REFUSALS, STORE_FAILURES, UPSTREAM_FAILURES, VERDICTS};
use super::page::Page;
use crate::doors::redis::OUTCOMES;

/// What one worker counts. Two workers share no cache line, nor a pair of lines that is fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkerCounts {
    pub(crate) requests: Family,
    pub(crate) responses: Family,
    pub(crate) refusals: Family,
    pub(crate) store_failures: Family,
    pub(crate) upstream_responses: Family,
    pub(crate) upstream_failures: Family,
    pub(crate) door_requests: Family,
    pub(crate) redis_commands: Family,
    pub(crate) durations: Histogram,
    pub(crate) decisions: Histogram,
    pub(crate) delays: Histogram,
    pub(crate) connections_opened: Count,
    pub(crate) connections: Count,
    pub(crate) turned_away: Count,
    pub(crate) in_flight: Count,
    pub(crate) received: Count,
    pub(crate) sent: Count,
}

impl Default for WorkerCounts {
    fn default() -> Self {
        Self {
            requests: Family::of(VERDICTS),
            responses: Family::of(CLASSES),
            refusals: Family::of(REFUSALS),
            store_failures: Family::of(STORE_FAILURES),
            upstream_responses: Family::of(CLASSES),
            upstream_failures: Family::of(UPSTREAM_FAILURES),
            door_requests: Family::of(ASKING_DOORS),
            redis_commands: Family::of(OUTCOMES),
            durations: Histogram::default(),
            decisions: Histogram::default(),
            delays: Histogram::default(),
            connections_opened: Count::default(),
            connections: Count::default(),
            turned_away: Count::default(),
            in_flight: Count::default(),
            received: Count::default(),
            sent: Count::default(),
        }
    }
}

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;

/// Whole requests, and waits: half a millisecond to half a minute.
pub(crate) const DURATIONS: Bounds = [
    500 * MICRO,
    MILLI,
    2_500 * MICRO,
    5 * MILLI,
    10 * MILLI,
    25 * MILLI,
    50 * MILLI,
    100 * MILLI,
    250 * MILLI,
    500 * MILLI,
    1_000 * MILLI,
    2_500 * MILLI,
    5_000 * MILLI,
    10_000 * MILLI,
    30_000 * MILLI,
];

/// Decisions: a microsecond to a second.
pub(crate) const DECISIONS: Bounds = [
    MICRO,
    2_500,
    5 * MICRO,
    10 * MICRO,
    25 * MICRO,
    50 * MICRO,
    100 * MICRO,
    250 * MICRO,
    500 * MICRO,
    MILLI,
    5 * MILLI,
    10 * MILLI,
    50 * MILLI,
    100 * MILLI,
    1_000 * MILLI,
];

/// Tells what all `workers` counted together.
pub(super) fn tell(workers: &[WorkerCounts], page: &mut Page<'_>) -> std::fmt::Result {
    let sum = |of: fn(&WorkerCounts) -> &Count| {
        let counts = workers.iter().map(|worker| of(worker).get());
        counts.fold(0, u64::wrapping_add)
    };
    let family = |of: fn(&WorkerCounts) -> &Family, word: &str| {
        let counts = workers.iter().map(|worker| of(worker).get(word));
        counts.fold(0, u64::wrapping_add)
    };
    let spread = |of: fn(&WorkerCounts) -> &Histogram| {
        let readings = workers.iter().map(|worker| of(worker).read());
        readings.fold(Reading::default(), Reading::plus)
    };
    page.counters(
        (
            "tidegate_requests",
            "Requests that have ended, by what was decided about them",
        ),
        "verdict",
        VERDICTS,
        |word| family(|worker| &worker.requests, word),
    )?;
    page.counters(
        (
            "tidegate_responses",
            "Responses to clients, by class of their status",
        ),
        "class",
        CLASSES,
        |word| family(|worker| &worker.responses, word),
    )?;
    page.counters(
        (
            "tidegate_refusals",
            "Requests that were answered here for a fault or a limit, by error",
        ),
        "reason",
        REFUSALS,
        |word| family(|worker| &worker.refusals, word),
    )?;
    page.counters(
        (
            "tidegate_store_failures",
            "Decisions that the store could not make",
        ),
        "kind",
        STORE_FAILURES,
        |word| family(|worker| &worker.store_failures, word),
    )?;
    page.counters(
        (
            "tidegate_upstream_responses",
            "Responses of the upstream, by class of their status",
        ),
        "class",
        CLASSES,
        |word| family(|worker| &worker.upstream_responses, word),
    )?;
    page.counters(
        (
            "tidegate_upstream_failures",
            "Requests and responses that failed at the upstream",
        ),
        "error",
        UPSTREAM_FAILURES,
        |word| family(|worker| &worker.upstream_failures, word),
    )?;
    page.counters(
        (
            "tidegate_door_requests",
            "Requests, calls and messages that came to doors",
        ),
        "door",
        ASKING_DOORS,
        |word| family(|worker| &worker.door_requests, word),
    )?;
    page.counters(
        (
            "tidegate_redis_commands",
            "Commands to doors for Redis, by what was decided",
        ),
        "outcome",
        OUTCOMES,
        |word| family(|worker| &worker.redis_commands, word),
    )?;
    page.histogram(
        (
            "tidegate_request_duration_seconds",
            "From the head of a request to the end of its response",
        ),
        &DURATIONS,
        spread(|worker| &worker.durations),
    )?;
    page.histogram(
        (
            "tidegate_decision_duration_seconds",
            "From the head of a request to the verdict on it",
        ),
        &DECISIONS,
        spread(|worker| &worker.decisions),
    )?;
    page.histogram(
        (
            "tidegate_delay_seconds",
            "How long requests were held back by leaky buckets",
        ),
        &DURATIONS,
        spread(|worker| &worker.delays),
    )?;
    page.counter(
        ("tidegate_connections_opened", "Connections taken from clients"),
        sum(|worker| &worker.connections_opened),
    )?;
    page.gauge(
        ("tidegate_connections", "Connections of clients that are open"),
        sum(|worker| &worker.connections),
    )?;
    page.counter(
        (
            "tidegate_connections_turned_away",
            "Connections of those who are not among the callers of a door",
        ),
        sum(|worker| &worker.turned_away),
    )?;
    page.gauge(
        ("tidegate_requests_in_flight", "Requests that are being answered"),
        sum(|worker| &worker.in_flight),
    )?;
    page.counter(
        (
            "tidegate_request_body_bytes",
            "Bytes of bodies taken from clients",
        ),
        sum(|worker| &worker.received),
    )?;
    page.counter(
        ("tidegate_response_body_bytes", "Bytes of bodies given to clients"),
        sum(|worker| &worker.sent),
    )
}
