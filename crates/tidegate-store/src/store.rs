//! What a store must do.

use core::fmt;
use std::future::Future;

use smallvec::SmallVec;
use tidegate_core::{Charge, Decisions, HoldId, Key, Timestamp};

/// Where the state of limits is kept.
///
/// Every backend passes the suite in `conformance`, which is this trait's contract in the form of tests.
pub trait Store: Send + Sync + 'static {
    /// Decides on all `charges` of one request together: spends all of them or none.
    ///
    /// A refusal is an answer, not an error. A store that has a clock of its own (a shared one) does not look at `now`.
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

    /// Gives back the cost of each of `charges`, of which nothing is known but that it was spent some time ago: so much of what its counter
    /// holds, the latest spendings first (of slots the earliest), and never more than that. Each of them by itself. What it may have done is
    /// never tried again, so nothing is given back twice.
    ///
    /// # Errors
    /// [`NotRefunded`]: some of them were not given back, or nobody knows.
    fn refund(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> impl Future<Output = Result<(), NotRefunded>> + Send;
}

/// Why a store did not give back all that it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRefunded {
    /// What went wrong first.
    pub error: StoreError,
    /// The places of charges that surely were not given back, in rising order. All others were, or may have been.
    pub untouched: SmallVec<[usize; 4]>,
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "the store did not answer in time",
            Self::Unavailable => "the store cannot be reached",
        })
    }
}

impl core::error::Error for StoreError {}
