//! The slots that a request holds under concurrency limits.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_clock::Clock;
use tidegate_core::{Algorithm, HoldId};
use tidegate_policy::Plan;
use tidegate_store::{Store, give_back_aside};

use crate::Counters;
use crate::counters::Slot;

/// Slots that are given back when this is dropped, so in whichever way their request ends.
pub struct Hold {
    give_back: Option<Box<dyn FnOnce() + Send>>,
}

impl Hold {
    /// The slots that `plan` asks for under the name `hold`; None if it asks for none.
    pub fn of<S: Store>(
        plan: &Plan<'_>,
        hold: HoldId,
        counters: &Arc<Counters<S>>,
        clock: &Clock,
    ) -> Option<Self> {
        let charges = plan.charges.iter().zip(&plan.sources);
        let slots: SmallVec<[Slot; 2]> = charges
            .filter(|(charge, _)| charge.limit.algorithm() == Algorithm::Concurrency)
            .map(|(charge, source)| Slot::of(charge.key, source))
            .collect();
        if slots.is_empty() {
            return None;
        }
        let (counters, clock) = (counters.clone(), clock.clone());
        Some(Self {
            give_back: Some(Box::new(move || give_back(counters, &slots, hold, &clock))),
        })
    }

    /// None of them was taken, so that none is given back.
    pub fn forget(mut self) -> Option<Self> {
        self.give_back = None;
        None
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            give_back();
        }
    }
}

fn give_back<S: Store>(counters: Arc<Counters<S>>, slots: &[Slot], hold: HoldId, clock: &Clock) {
    let now = clock.now();
    let shared = counters.release_locally(slots, hold, now);
    if shared.is_empty() {
        return;
    }
    give_back_aside(async move {
        let Some(store) = counters.store() else {
            return;
        };
        for key in shared {
            // A slot that cannot be given back comes back by its TTL.
            let _ = store.release(key, hold, now).await;
        }
    });
}
