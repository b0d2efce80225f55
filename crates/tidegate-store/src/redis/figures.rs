//! What a store counts about itself.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::breaker::BreakerState;

/// The bounds of [`Figures::latencies`], in microseconds; the last bucket has none.
pub const LATENCY_BOUNDS_US: [u64; 12] = [
    50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400,
];

/// What a store has done since its start, and how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Requests that were decided.
    pub decided: u64,
    /// Of these, refusals that were still known from the last time.
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

/// The counters. Nothing hangs on their order.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) decided: AtomicU64,
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
        self.decided.fetch_add(1, Relaxed);
        self.latency_sum_us.fetch_add(micros, Relaxed);
        if let Some(latencies) = self.latencies.get(bucket) {
            latencies.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn read(&self, retries: u64, servers: Vec<ServerFigures>) -> Figures {
        Figures {
            decided: self.decided.load(Relaxed),
            remembered: self.remembered.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            unavailable: self.unavailable.load(Relaxed),
            overloaded: self.overloaded.load(Relaxed),
            calls: self.calls.load(Relaxed),
            retries,
            latencies: core::array::from_fn(|bucket| {
                self.latencies
                    .get(bucket)
                    .map_or(0, |latencies| latencies.load(Relaxed))
            }),
            latency_sum: Duration::from_micros(self.latency_sum_us.load(Relaxed)),
            servers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_counts_in_the_bucket_whose_bound_it_does_not_pass() {
        let counters = Counters::default();
        for micros in [0, 50, 51, 102_400, 102_401] {
            counters.decided_within(Duration::from_micros(micros));
        }
        let figures = counters.read(0, Vec::new());
        assert_eq!(figures.latencies, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(
            (figures.decided, figures.latency_sum),
            (5, Duration::from_micros(204_902))
        );
    }
}
