//! What a store must do.

use core::fmt;
use std::future::Future;

use tidegate_core::{Charge, Decisions, HoldId, Key, MAX_CHARGES, Timestamp};

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

    /// The same, where `cautious` names charges whose counters count as empty for a while after a failover that may have lost what was
    /// spent. A store that loses nothing has nothing to do.
    ///
    /// # Errors
    /// The same.
    fn charge_cautiously(
        &self,
        charges: &[Charge<'_>],
        cautious: Cautious,
        now: Timestamp,
    ) -> impl Future<Output = Result<Decisions, StoreError>> + Send {
        let _ = cautious;
        self.charge(charges, now)
    }

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

/// Which charges of a request are to be decided with caution, by their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cautious(u16);

const _: () = assert!(MAX_CHARGES <= u16::BITS as usize, "each charge has a bit");

impl Cautious {
    /// Nobody's.
    pub const NONE: Self = Self(0);

    /// Whether the charge at `place` is one.
    pub const fn holds(self, place: usize) -> bool {
        place < MAX_CHARGES && self.0 >> place & 1 == 1
    }
}

/// Of each charge, in their order, whether it is one.
impl FromIterator<bool> for Cautious {
    fn from_iter<I: IntoIterator<Item = bool>>(each: I) -> Self {
        let places = each.into_iter().take(MAX_CHARGES).enumerate();
        Self(places.fold(0, |all, (place, one)| all | u16::from(one) << place))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charges_that_are_named_are_cautious_and_no_others() {
        let cautious: Cautious = (0..MAX_CHARGES + 2).map(|place| place % 3 == 0).collect();
        for place in 0..MAX_CHARGES + 2 {
            assert_eq!(cautious.holds(place), place % 3 == 0 && place < MAX_CHARGES);
        }
        assert!(!Cautious::NONE.holds(0));
    }
}
