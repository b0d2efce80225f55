//! Tidegate's table in its memory store, asked as the gateway asks: hash the key under a secret, read the clock, charge.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use quanta::Clock;
use tidegate_core::{Charge, Cost, HoldId, Key, KeyHasher, Limit, Mode, Rate, TableSize, Timestamp};
use tidegate_store::Memory;

use super::{Limiter, Name, Quota};

/// The table with one limit.
pub(crate) struct Tidegate {
    memory: Memory,
    hasher: KeyHasher,
    limit: Limit,
    clock: Clock,
    started: u64,
    started_at: u64,
}

impl Tidegate {
    /// A table of `bucket_bytes`.
    pub(crate) fn new(quota: Quota, bucket_bytes: usize) -> anyhow::Result<Self> {
        let rate = Rate::new(1, Duration::from_secs(quota.interval_secs))?;
        let clock = Clock::new();
        let epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .context("a clock before 1970")?;
        Ok(Self {
            memory: Memory::new(TableSize {
                bucket_bytes,
                ledger_bytes: 1 << 16,
            }),
            hasher: KeyHasher::new(*b"bench's own key!"),
            limit: Limit::token_bucket(rate, u64::from(quota.burst))?,
            started: clock.raw(),
            clock,
            started_at: u64::try_from(epoch.as_nanos())?,
        })
    }

    #[inline]
    fn charge(&self, name: &Name, cost: Cost) -> (bool, u64) {
        let charge = Charge {
            key: self.key(name),
            limit: &self.limit,
            cost,
            mode: Mode::Enforce,
            hold: HoldId::default(),
        };
        let decision = self.memory.table().charge_one(&charge, self.now());
        (decision.outcome.passes(), decision.remaining)
    }

    #[inline]
    fn key(&self, name: &Name) -> Key {
        self.hasher.key(name.text.as_bytes())
    }

    #[inline]
    fn now(&self) -> Timestamp {
        let since = self.clock.delta_as_nanos(self.started, self.clock.raw());
        Timestamp::from_nanos(self.started_at + since)
    }
}

impl Limiter for Tidegate {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        self.charge(name, Cost::ONE).0
    }

    fn remembers(&self, name: &Name) -> Option<bool> {
        Some(self.charge(name, Cost::LOOK).1 < self.limit.capacity())
    }
}
