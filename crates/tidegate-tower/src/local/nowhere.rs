//! A store that is nowhere.

use tidegate_core::{Charge, Decisions, HoldId, Key, Timestamp};
use tidegate_store::{NotRefunded, Store, StoreError};

/// Takes the place of a shared store that this process does not ask: it never decides, so that each policy does what its
/// `on_store_failure` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoStore;

impl Store for NoStore {
    async fn charge(&self, _charges: &[Charge<'_>], _now: Timestamp) -> Result<Decisions, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn release(&self, _key: Key, _hold: HoldId, _now: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn refund(&self, charges: &[Charge<'_>], _now: Timestamp) -> Result<(), NotRefunded> {
        Err(NotRefunded {
            error: StoreError::Unavailable,
            untouched: (0..charges.len()).collect(),
        })
    }
}
