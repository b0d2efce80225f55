//! What is known of a schedule around the last look, in one number.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::Timestamp;

/// Whether a schedule is open, and since and until when that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) open: bool,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

/// The last [`Known`], in whole minutes: schedules change at whole minutes, and so both ends fit beside the state.
///
/// The number stands alone: nothing else is published with it, and a thread that sees an older one looks up anew.
#[derive(Debug, Default)]
pub(super) struct Cache(AtomicU64);

const MINUTE: u64 = 60_000_000_000;

/// Bits of a minute since 1970: enough for the year 6053.
const BITS: u32 = 31;
const MASK: u64 = (1 << BITS) - 1;

impl Cache {
    /// Whether it is open at `now`, if that is known.
    pub(super) fn at(&self, now: Timestamp) -> Option<bool> {
        let known = self.0.load(Ordering::Relaxed);
        let minute = now.as_nanos() / MINUTE;
        let (until, from) = (known >> 1 & MASK, known >> (BITS + 1));
        (from <= minute && minute < until).then_some(known & 1 == 1)
    }

    /// Keeps the whole minutes of `known`, the one that is running included.
    pub(super) fn remember(&self, known: Known) {
        // `from` is a moment that was asked for: its minute began with the same state, for changes come at whole minutes.
        let from = known.from.as_nanos() / MINUTE;
        let until = known.until.as_nanos() / MINUTE;
        let number = from << (BITS + 1) | until.min(MASK) << 1 | u64::from(known.open);
        self.0.store(number, Ordering::Relaxed);
    }
}

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}
