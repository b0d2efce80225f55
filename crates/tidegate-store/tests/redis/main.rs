//! The shared store against real servers: what it decides, and what it does when they are not there.
#![allow(clippy::expect_used, reason = "a failed check is a failed test")]

mod api_keys;
#[path = "../common/asking.rs"]
mod asking;
mod cluster;
mod conformance;
mod failures;
mod login;
mod refunds;
mod sentinel;
mod single;

use core::time::Duration;
use std::sync::Arc;

use tidegate_core::{Charge, Cost, Decisions, Key, Limit, Rate, Timestamp};
use tidegate_store::redis::{Address, BreakerState, Figures, Servers, Settings};
use tidegate_store::{Redis, Store as _, StoreError};
use tidegate_test_servers::{Server, Watch, until};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use asking::{address, addresses, one, patient};

/// What comes on top of a timeout on a machine that does other things as well.
const SLACK: Duration = Duration::from_millis(250);

/// A store, and threads for its tasks and for those who ask it.
struct Store {
    redis: Arc<Redis>,
    runtime: Runtime,
}

impl Store {
    fn new(settings: &Settings) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let redis = Redis::new(settings, runtime.handle().clone()).expect("sound settings");
        Self {
            redis: Arc::new(redis),
            runtime,
        }
    }

    /// One that has a connection to each server.
    fn connected(settings: &Settings) -> Self {
        let store = Self::new(settings);
        until("the store is connected", || store.is_connected().then_some(()));
        store
    }

    fn of(server: &Server) -> Self {
        Self::connected(&patient(Servers::Single(address(server))))
    }

    fn is_connected(&self) -> bool {
        is_connected(&self.figures())
    }

    fn figures(&self) -> Figures {
        self.redis.figures()
    }

    fn breaker_is(&self, state: BreakerState) -> bool {
        self.figures()
            .servers
            .iter()
            .any(|server| server.breaker == state)
    }

    fn charge(&self, charges: &[Charge<'_>]) -> Result<Decisions, StoreError> {
        self.runtime.block_on(self.redis.charge(charges, NOW))
    }

    /// Whether one unit passes.
    fn passes(&self, key: Key, limit: &Limit) -> Result<bool, StoreError> {
        self.charge(&[one(key, limit)]).map(|decisions| decisions.charged)
    }

    /// The same, and how long it took.
    fn timed(&self, key: Key, limit: &Limit) -> (Result<bool, StoreError>, Duration) {
        let watch = Watch::start();
        (self.passes(key, limit), watch.elapsed())
    }

    /// Waits until it decides.
    fn recovers(&self, key: Key) {
        let limit = per_minute(1_000_000);
        until("the store decides again", || self.passes(key, &limit).ok());
    }

    /// How many of `requests` pass that are made at one time.
    fn admits(&self, key: Key, limit: &Limit, requests: u64) -> u64 {
        let limit = Arc::new(limit.clone());
        self.runtime.block_on(async {
            let mut askers = JoinSet::new();
            for _ in 0..requests {
                let (redis, limit) = (Arc::clone(&self.redis), Arc::clone(&limit));
                askers.spawn(async move { redis.charge(&[one(key, &limit)], NOW).await });
            }
            let answers = askers.join_all().await;
            let passed = answers
                .into_iter()
                .filter(|answer| answer.as_ref().is_ok_and(|answer| answer.charged));
            passed.count() as u64
        })
    }
}

/// Whether there is a connection to every server that is known.
fn is_connected(figures: &Figures) -> bool {
    !figures.servers.is_empty() && figures.servers.iter().all(|server| server.connected)
}

/// A store has a clock of its own.
const NOW: Timestamp = Timestamp::EPOCH;

/// That many at once, and then nothing for a while.
fn per_minute(quota: u64) -> Limit {
    let rate = Rate::new(quota, Duration::from_secs(60)).expect("a legal rate");
    Limit::sliding_window(rate)
}

/// A key in that shard.
fn key(shard: u8, number: u8) -> Key {
    Key::in_shard(u128::from_be_bytes([number; 16]), shard)
}

/// With the timeout that holds where nothing is said.
fn brisk(servers: Servers) -> Settings {
    Settings::new(servers)
}
