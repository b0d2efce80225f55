//! Whether the shared store answers, for people: told once when it changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate_policy::StoreFailure;

use tidegate_clock::Clock;

/// An outage is over when the store has answered for so long without a failure, in nanoseconds: one that comes and goes is told once.
const QUIET_NS: u64 = 1_000_000_000;

/// Whether a store answers, and since when it failed.
#[derive(Debug, Default)]
pub struct Outage {
    lasts: AtomicBool,
    /// When it failed last, in nanoseconds since the epoch.
    failed_at: AtomicU64,
}

impl Outage {
    /// Whether the store has failed within the last second of answers.
    pub fn lasts(&self) -> bool {
        // A word for people; nothing else is read because of it.
        self.lasts.load(Ordering::Relaxed)
    }

    /// The store could not decide.
    pub(super) fn seen(&self, failure: StoreFailure, clock: &Clock) {
        self.failed_at.store(clock.now().as_nanos(), Ordering::Relaxed);
        if !self.lasts.swap(true, Ordering::Relaxed) {
            let reason = failure.name();
            tracing::warn!(
                reason,
                "the shared store does not decide: each policy does what its `on_store_failure` says"
            );
        }
    }

    /// The store has decided. In the usual case this is one load.
    #[inline]
    pub(super) fn is_over(&self, clock: &Clock) {
        if self.lasts() {
            self.may_be_over(clock);
        }
    }

    #[cold]
    fn may_be_over(&self, clock: &Clock) {
        let failed_at = self.failed_at.load(Ordering::Relaxed);
        let is_quiet = clock.now().as_nanos().saturating_sub(failed_at) >= QUIET_NS;
        if is_quiet && self.lasts.swap(false, Ordering::Relaxed) {
            tracing::info!("the shared store decides again");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::Timestamp;

    use super::*;
    use tidegate_clock::ManualClock;

    #[test]
    fn an_outage_lasts_until_the_store_has_answered_for_a_second() {
        let manual = ManualClock::starting_at(Timestamp::from_nanos(1_800_000_000_000_000_000));
        let clock = Clock::manual(manual.clone());
        let outage = Outage::default();
        outage.is_over(&clock);
        assert!(!outage.lasts());
        outage.seen(StoreFailure::Timeout, &clock);
        assert!(outage.lasts());
        manual.advance(Duration::from_nanos(QUIET_NS - 1));
        outage.is_over(&clock);
        assert!(outage.lasts(), "a nanosecond is missing");
        manual.advance(Duration::from_nanos(1));
        outage.is_over(&clock);
        assert!(!outage.lasts());
    }
}
