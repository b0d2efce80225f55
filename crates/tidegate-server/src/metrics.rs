//! What is counted while requests are served, and how it is told to Prometheus.
//!
//! Each worker counts on memory of its own; a scrape sums up. Labels come from closed sets: names of policies, and words that are
//! written here. Nothing that a request says becomes a label.

mod count;
mod family;
mod page;
mod policies;
mod process;
mod worker;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_policy::Policy;

pub(crate) use count::{Bounds, Reading, Tally};
pub(crate) use family::class;
#[cfg(test)]
pub(crate) use family::{REFUSALS, UPSTREAM_FAILURES};
pub(crate) use page::{Exposition, Page, seconds};
pub(crate) use policies::Answered;
pub(crate) use process::process;
pub(crate) use worker::{DECISIONS, DURATIONS, WorkerCounts};

pub use policies::Meters;

/// Everything that is counted. One for the process.
#[derive(Debug)]
pub struct Metrics {
    workers: Box<[WorkerCounts]>,
    /// The meters of the policies that are in force.
    policies: Mutex<Arc<Meters>>,
}

impl Metrics {
    /// Nothing counted yet, by so many workers.
    pub fn new(workers: NonZeroUsize) -> Arc<Self> {
        Arc::new(Self {
            workers: (0..workers.get()).map(|_| WorkerCounts::default()).collect(),
            policies: Mutex::default(),
        })
    }

    /// The meters of `policies`, which are in force from now on. A limit that is there already keeps what it has counted.
    pub fn meters(&self, policies: &[Policy]) -> Arc<Meters> {
        let mut current = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Meters::following(&current, policies, self.workers.len()));
        current.clone()
    }

    /// What worker number `index` counts. There is at least one; numbers beyond the last begin anew.
    #[inline]
    pub(crate) fn worker(&self, index: usize) -> &WorkerCounts {
        &self.workers[index % self.workers.len()]
    }

    /// The sum of `of` over all workers.
    fn sum(&self, of: impl Fn(&WorkerCounts) -> u64) -> u64 {
        self.workers.iter().map(of).fold(0, u64::wrapping_add)
    }

    /// Connections of clients that are open.
    pub(crate) fn connections(&self) -> u64 {
        self.sum(|worker| worker.connections.get())
    }

    /// Requests that are being answered.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sum(|worker| worker.in_flight.get())
    }

    /// Tells everything that was counted.
    pub(crate) fn tell(&self, page: &mut Page<'_>) -> std::fmt::Result {
        worker::tell(&self.workers, page)?;
        let policies = self
            .policies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        policies.tell(page)
    }
}

#[cfg(test)]
mod tests;
