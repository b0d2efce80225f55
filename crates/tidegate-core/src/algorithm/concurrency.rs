//! Concurrency: at most so many slots in use at one time. A slot comes back when its holder gives it back, or when its
//! time to live is over: a holder that died does not keep it.
//!
//! A slot is remembered by the moment it was taken, so a changed time to live holds for slots in use, too.

use core::time::Duration;

use super::recent::Recent;
use super::tally::Usage;
use crate::HoldId;
use crate::limit::{LimitError, MAX_SPAN_NS};
use crate::time::nanos;

/// The most slots of a concurrency limit: 24 bytes each, in memory that grows by doubling, are up to 393 kB for one key.
pub const MAX_SLOTS: u64 = 10_000;

/// The slots in use.
pub(crate) type Slots = Recent<HoldId>;

/// The numbers of a concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Concurrency {
    slots: u64,
    ttl_ns: u64,
}

impl Concurrency {
    /// # Errors
    /// [`LimitError::ZeroSlots`], [`LimitError::TooManySlots`], [`LimitError::ZeroTtl`] and [`LimitError::TtlTooLong`].
    pub(crate) fn new(slots: u64, ttl: Duration) -> Result<Self, LimitError> {
        let ttl_ns = nanos(ttl);
        if slots == 0 {
            return Err(LimitError::ZeroSlots);
        }
        if slots > MAX_SLOTS {
            return Err(LimitError::TooManySlots);
        }
        if ttl_ns == 0 {
            return Err(LimitError::ZeroTtl);
        }
        if ttl_ns > MAX_SPAN_NS {
            return Err(LimitError::TtlTooLong);
        }
        Ok(Self { slots, ttl_ns })
    }

    pub(crate) const fn slots(self) -> u64 {
        self.slots
    }

    pub(crate) const fn ttl(self) -> Duration {
        Duration::from_nanos(self.ttl_ns)
    }

    pub(crate) fn read(self, slots: Option<&Slots>, cost: u64, now: u64) -> (Usage, u64) {
        match slots {
            Some(slots) => slots.read(self.slots, cost, self.ttl_ns, now),
            None => (Usage::none(now + self.ttl_ns), u64::MAX),
        }
    }

    pub(crate) fn spend(self, slots: Option<Slots>, units: u64, hold: HoldId, now: u64) -> Slots {
        let mut slots = slots.unwrap_or_else(Slots::new);
        slots.spend(units, hold, self.ttl_ns, now);
        slots
    }

    /// Frees the `units` slots that were taken first. Whose they are is not known, and requests that still run began after all that
    /// are freed, or as many others did: so no slot in use is forgotten before its time.
    pub(crate) fn refund(self, slots: &mut Slots, units: u64, now: u64) {
        slots.refund_earliest(units, self.ttl_ns, now);
    }
}

impl Slots {
    /// Gives back what `hold` took.
    pub(crate) fn release(&mut self, hold: HoldId) {
        self.take_back(hold);
    }
}
