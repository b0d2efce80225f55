//! The policies, indexed: a request meets only those that may match it.

use tidegate_core::HoldId;

use crate::{Identity, Plan, Policy, Request};

/// The policies of one file, compiled. Cheap to ask from many threads; made once per load.
#[derive(Clone, Debug)]
pub struct PolicySet {
    policies: Vec<Policy>,
}

impl PolicySet {
    /// The policies, in the order of the file.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// What `request`, made by `identity`, asks of the store.
    ///
    /// `hold` names the slots it takes under concurrency limits; it must be unique among the requests alive at one time.
    pub fn plan(&self, request: &Request<'_>, identity: &Identity, hold: HoldId) -> Plan<'_> {
        let _ = (request, identity, hold);
        Plan::default()
    }
}
