//! See the crate's description.

use std::future::Future;

use tidegate_core::{Charge, Decisions, HoldId, Key, Timestamp};

/// Where the state of limits is kept.
pub trait Store: Send + Sync + 'static {
    /// Decides on all `charges` of one request together: spends all of them or none.
    ///
    /// # Errors
    /// [`StoreError`]: no decision could be had. Nothing is known about what was spent.
    fn charge(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> impl Future<Output = Result<Decisions, StoreError>> + Send;

    /// Gives back the slot of a concurrency limit that `hold` took under `key`. Giving back twice is the same as once.
    ///
    /// # Errors
    /// [`StoreError`]: the slot may come back only when its TTL is over.
    fn release(
        &self,
        key: Key,
        hold: HoldId,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Why a store could not decide. A refusal is not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Unavailable,
}
