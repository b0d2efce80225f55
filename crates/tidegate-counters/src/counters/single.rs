//! One charge by itself, for callers who bring names and limits of their own.

use tidegate_core::{Charge, Decision, Timestamp};
use tidegate_policy::StoreFailure;
use tidegate_store::Store;

use super::{Counters, failure};
use tidegate_clock::Clock;

impl<S: Store> Counters<S> {
    /// Decides on `charge` in memory.
    #[inline]
    pub fn decide_locally(&self, charge: &Charge<'_>, now: Timestamp) -> Decision {
        self.local.table().charge_one(charge, now)
    }

    /// Decides on `charge` in the shared store.
    ///
    /// # Errors
    /// Why that could not be asked. Nothing is known about what was spent.
    pub async fn decide_shared(
        &self,
        charge: &Charge<'_>,
        now: Timestamp,
        clock: &Clock,
    ) -> Result<Decision, StoreFailure> {
        let Some(shared) = &self.shared else {
            return Err(StoreFailure::Unavailable);
        };
        let decided = match shared.store.charge(std::slice::from_ref(charge), now).await {
            Ok(decisions) => decisions.each.first().copied().ok_or(StoreFailure::Garbled),
            Err(error) => Err(failure(error)),
        };
        match decided {
            Ok(_) => shared.outage.is_over(clock),
            Err(failure) => shared.outage.seen(failure, clock),
        }
        decided
    }

    /// Decides on `charge`, which the shared store could not, by a counter of this process.
    pub fn decide_in_its_place(&self, charge: &Charge<'_>, now: Timestamp) -> Decision {
        let key = match &self.shared {
            Some(shared) => shared.own_name(charge.key),
            None => charge.key,
        };
        self.decide_locally(&Charge { key, ..*charge }, now)
    }
}
