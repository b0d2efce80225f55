//! Where a worker's requests are counted and written down.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_policy::Door;

use super::complaints::{Blame, Complaints};
use crate::access_log::{AccessLog, Line};
use crate::clock::Clock;
use crate::metrics::{Metrics, WorkerCounts};

/// Where a worker's requests are counted and written down. One for each worker.
pub(crate) struct Books {
    metrics: Arc<Metrics>,
    worker: usize,
    clock: Clock,
    log: Option<AccessLog>,
    complaints: Complaints,
    random: Cell<u64>,
    /// When somebody who was turned away is told of again.
    next_turned_away: Cell<Timestamp>,
    /// When a domain that no policy names is told of again.
    next_unknown: Cell<Timestamp>,
}

impl Books {
    /// The books of worker number `worker`.
    pub(crate) fn new(worker: usize, metrics: Arc<Metrics>, clock: Clock, log: Option<AccessLog>) -> Self {
        Self {
            metrics,
            worker,
            clock,
            log,
            complaints: Complaints::default(),
            next_turned_away: Cell::new(Timestamp::EPOCH),
            next_unknown: Cell::new(Timestamp::EPOCH),
            random: Cell::new(RandomState::new().hash_one(worker)),
        }
    }

    /// What this worker counts.
    #[inline]
    pub(crate) fn counts(&self) -> &WorkerCounts {
        self.metrics.worker(self.worker)
    }

    /// Its number.
    pub(crate) fn worker(&self) -> usize {
        self.worker
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether a request that begins now may get a line in the access log.
    pub(super) fn line(&self) -> Option<()> {
        let log = self.log.as_ref()?;
        log.takes(|| self.random()).then_some(())
    }

    /// Writes `line`, if it is one that the log wants.
    pub(super) fn write(&self, line: &Line) {
        if let Some(log) = &self.log {
            log.write(line);
        }
    }

    /// The server of `blame` failed with `error`.
    pub(super) fn upstream_failed(&self, error: &'static str, blame: Blame<'_>) {
        self.counts().upstream_failures.one(error);
        self.complaints.add(blame, error, self.now());
    }

    /// Somebody who is no caller of `door` connected to it. Counted, and told once a second at most.
    pub(crate) fn turned_away(&self, door: Door, peer: IpAddr) {
        self.counts().turned_away.one();
        let now = self.now();
        if now < self.next_turned_away.get() {
            return;
        }
        self.next_turned_away
            .set(now.saturating_add(Duration::from_secs(1)));
        let door = door.name();
        tracing::warn!(door, %peer, "turned away: not among the `callers` of this door");
    }

    /// Somebody asked about `domain`, which no policy names. Told once a second at most.
    pub(crate) fn unknown_domain(&self, domain: &str) {
        let now = self.now();
        if now < self.next_unknown.get() {
            return;
        }
        self.next_unknown.set(now.saturating_add(Duration::from_secs(1)));
        tracing::warn!(domain, "calls to this domain are not limited: no policy names it");
    }

    /// Says what is still to be said of the upstream's failures. Called now and then.
    pub(crate) fn tick(&self) {
        if self.complaints.are_pending() {
            self.complaints.settle(self.now());
        }
    }

    /// An even number out of nowhere: SplitMix64, begun at a secret of the process. Good for names, not for secrets.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
