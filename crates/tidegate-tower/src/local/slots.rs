//! The slots that a request holds under concurrency limits.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_clock::Clock;
use tidegate_core::{Algorithm, HoldId, Key};
use tidegate_policy::Plan;
use tidegate_store::{Store, give_back_aside};

use crate::Hold;

/// The slots that `plan` asks for under the name `hold`; None if it asks for none.
pub(super) fn of<S: Store>(plan: &Plan<'_>, hold: HoldId, store: &Arc<S>, clock: &Clock) -> Option<Hold> {
    let charges = plan.charges.iter();
    let slots: SmallVec<[Key; 2]> = charges
        .filter(|charge| charge.limit.algorithm() == Algorithm::Concurrency)
        .map(|charge| charge.key)
        .collect();
    if slots.is_empty() {
        return None;
    }
    let (store, clock) = (store.clone(), clock.clone());
    Some(Hold::new(move || give_back(store, slots, hold, &clock)))
}

fn give_back<S: Store>(store: Arc<S>, slots: SmallVec<[Key; 2]>, hold: HoldId, clock: &Clock) {
    let now = clock.now();
    give_back_aside(async move {
        for key in slots {
            // A slot that cannot be given back comes back by its TTL.
            let _ = store.release(key, hold, now).await;
        }
    });
}
