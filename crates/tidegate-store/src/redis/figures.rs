//! What a store counts about itself.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::breaker::BreakerState;
use super::fault::{FAULTS, Fault};

/// The bounds of [`Figures::latencies`], in microseconds; the last bucket has none.
pub const LATENCY_BOUNDS_US: [u64; 15] = [
    50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 204_800, 409_600, 819_200,
];

/// What a store has done since its start, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Requests that servers decided.
    pub decided: u64,
    /// Refusals that were still known from the last time, so that no server was asked.
    pub remembered: u64,
    /// Requests that got no answer in time.
    pub timeouts: u64,
    /// Requests that failed at once or with the connection.
    pub unavailable: u64,
    /// Of these, requests that found too many waiting.
    pub overloaded: u64,
    /// Calls to servers that decide on requests. [`Figures::decided`] over it is how many share one.
    pub calls: u64,
    /// Calls that were tried again: another server has the slot, or it was not ready.
    pub retries: u64,
    /// Connections that were made. What is above the number of servers was made anew.
    pub connections: u64,
    /// How often a server failed so often in a row that it was left alone.
    pub openings: u64,
    /// Tries of calls and of connections that failed, by each of [`FAULTS`].
    pub faults: [u64; FAULTS.len()],
    /// How long decisions took: how many up to each of [`LATENCY_BOUNDS_US`] and above the one before, and then all longer ones.
    pub latencies: [u64; LATENCY_BOUNDS_US.len() + 1],
    /// How long all decisions took together.
    pub latency_sum: Duration,
    /// Each server that is known.
    pub servers: Vec<ServerFigures>,
}

/// How the link to one server is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerFigures {
    /// Its address, or what Sentinels call it.
    pub name: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether it is asked.
    pub breaker: BreakerState,
}

/// What is counted about requests. Nothing hangs on the order of these numbers.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) remembered: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) overloaded: AtomicU64,
    pub(crate) calls: AtomicU64,
    latencies: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
    latency_sum_us: AtomicU64,
}

impl Counters {
    pub(crate) fn decided_within(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_BOUNDS_US.partition_point(|bound| *bound < micros);
        self.latency_sum_us.fetch_add(micros, Relaxed);
        if let Some(latencies) = self.latencies.get(bucket) {
            latencies.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn read(&self, events: &Events, servers: Vec<ServerFigures>) -> Figures {
        let latencies = self.latencies.each_ref().map(read);
        Figures {
            decided: latencies.iter().sum(),
            remembered: read(&self.remembered),
            timeouts: read(&self.timeouts),
            unavailable: read(&self.unavailable),
            overloaded: read(&self.overloaded),
            calls: read(&self.calls),
            retries: read(&events.retries),
            connections: read(&events.connections),
            openings: read(&events.openings),
            faults: events.faults.each_ref().map(read),
            latencies,
            latency_sum: Duration::from_micros(read(&self.latency_sum_us)),
            servers,
        }
    }
}

/// What is counted about the servers of one store together: some of them come and go. Nothing hangs on the order of these numbers.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) retries: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) openings: AtomicU64,
    faults: [AtomicU64; FAULTS.len()],
}

impl Events {
    pub(crate) fn failed(&self, fault: &Fault) {
        let word = fault.word();
        let counts = FAULTS.iter().zip(&self.faults);
        for (_, count) in counts.filter(|(known, _)| **known == word) {
            count.fetch_add(1, Relaxed);
        }
    }
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_counts_in_the_bucket_whose_bound_it_does_not_pass() {
        let counters = Counters::default();
        for micros in [0, 50, 51, 819_200, 819_201] {
            counters.decided_within(Duration::from_micros(micros));
        }
        let figures = counters.read(&Events::default(), Vec::new());
        assert_eq!(
            figures.latencies,
            [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
        );
        assert_eq!(
            (figures.decided, figures.latency_sum),
            (5, Duration::from_micros(1_638_502))
        );
    }
}
