//! The least that a concurrent limiter can do: a plain open-addressed table of hash and time.
//!
//! Not a product. It never forgets, so it has no bound, and it takes two keys with one 64-bit hash for the same.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ahash::RandomState;
use quanta::Clock;

use super::{Limiter, Name, Quota};

/// At least two slots per key, as one line of 16 bytes each.
pub(crate) struct Yardstick {
    slots: Vec<[AtomicU64; 2]>,
    hasher: RandomState,
    clock: Clock,
    started: u64,
    interval: u64,
    span: u64,
}

impl Yardstick {
    pub(crate) fn new(quota: Quota, keys: u32) -> Self {
        let slots = (keys as usize * 2).next_power_of_two();
        let clock = Clock::new();
        let interval = quota.interval_secs * 1_000_000_000;
        Self {
            slots: (0..slots).map(|_| Default::default()).collect(),
            hasher: RandomState::with_seeds(1, 2, 3, 4),
            started: clock.raw(),
            clock,
            interval,
            span: interval * u64::from(quota.burst),
        }
    }

    /// The time that belongs to `hash`, its slot claimed if it is new.
    #[inline]
    fn time_of(&self, hash: u64) -> &AtomicU64 {
        let mut index = hash as usize;
        loop {
            let [owner, time] = &self.slots[index & (self.slots.len() - 1)];
            let found = match owner.load(Relaxed) {
                0 => owner
                    .compare_exchange(0, hash, Relaxed, Relaxed)
                    .err()
                    .unwrap_or(hash),
                found => found,
            };
            if found == hash {
                return time;
            }
            index += 1;
        }
    }
}

impl Limiter for Yardstick {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name.text.as_bytes());
        let time = self.time_of(hasher.finish().rotate_left(20) | 1);
        let now = self.clock.delta_as_nanos(self.started, self.clock.raw());
        let next = |tat: u64| Some(tat.max(now) + self.interval).filter(|&next| next <= now + self.span);
        time.fetch_update(Relaxed, Relaxed, next).is_ok()
    }
}
