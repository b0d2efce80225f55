//! The slots that a request holds under concurrency limits.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use smallvec::SmallVec;
use tidegate_core::{Algorithm, HoldId, Key};
use tidegate_policy::Plan;
use tidegate_store::Store;

use crate::clock::Clock;

/// Slots that are given back when this is dropped, so in whichever way their request ends.
pub(crate) struct Hold {
    give_back: Option<Box<dyn FnOnce()>>,
}

impl Hold {
    /// The slots that `plan` asks for under the name `hold`; None if it asks for none.
    pub(crate) fn of<S: Store>(plan: &Plan<'_>, hold: HoldId, store: &Arc<S>, clock: &Clock) -> Option<Self> {
        let keys: SmallVec<[Key; 2]> = plan
            .charges
            .iter()
            .filter(|charge| charge.limit.algorithm() == Algorithm::Concurrency)
            .map(|charge| charge.key)
            .collect();
        if keys.is_empty() {
            return None;
        }
        let (store, clock) = (store.clone(), clock.clone());
        Some(Self {
            give_back: Some(Box::new(move || give_back(store, keys, hold, &clock))),
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            give_back();
        }
    }
}

fn give_back<S: Store>(store: Arc<S>, keys: SmallVec<[Key; 2]>, hold: HoldId, clock: &Clock) {
    let now = clock.now();
    let mut releasing = Box::pin(async move {
        for key in keys {
            // A slot that cannot be given back comes back by its TTL.
            let _ = store.release(key, hold, now).await;
        }
    });
    // The store in memory is done at once. Without a runtime the process is ending, and the TTL has to do.
    let ready = pin!(releasing.as_mut())
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready();
    if !ready && let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(releasing);
    }
}
