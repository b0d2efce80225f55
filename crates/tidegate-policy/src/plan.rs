//! What one request asks of the store.

use smallvec::SmallVec;
use tidegate_core::Charge;

/// What one request asks of the store, and which limit of which policy each charge came from.
#[derive(Clone, Debug, Default)]
pub struct Plan<'set> {
    /// The charges, all or nothing.
    pub charges: SmallVec<[Charge<'set>; 4]>,
}
