//! One call of Envoy's rate limit service, as policies see it.

use smallvec::SmallVec;

use crate::{Plan, PolicyLimit};

/// A call: some descriptors of one domain, decided on together.
#[derive(Clone, Copy, Debug)]
pub struct DescriptorCall<'c, 't> {
    /// The domain.
    pub domain: &'c str,
    /// The descriptors.
    pub descriptors: &'c [Descriptor<'t>],
    /// How many requests each of them stands for that does not say so itself, each at the policy's cost. None: one. 0 only looks.
    pub hits: Option<u64>,
}

/// One descriptor of a call.
#[derive(Clone, Debug)]
pub struct Descriptor<'t> {
    /// What it says, in order. Empty: no policy speaks about it.
    pub entries: SmallVec<[Entry<'t>; 4]>,
    /// How many requests it stands for. None: what the call says.
    pub hits: Option<u64>,
    /// The limit it brings along, which takes the place of the file's.
    pub limit: Option<&'t PolicyLimit>,
}

/// One entry of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key: `remote_address`.
    pub key: &'t str,
    /// The value; it may be empty.
    pub value: &'t str,
}

/// What one call asks of the store.
///
/// No charges and no refusal: no policy limits the call, it passes.
#[derive(Clone, Debug, Default)]
pub struct DescriptorPlan<'c> {
    /// The charges, and where they came from.
    pub plan: Plan<'c>,
    /// For each charge, the place of its descriptor in the call. None: it is for the whole call.
    pub places: SmallVec<[Option<u32>; 4]>,
    /// The places of descriptors that a policy calls unlimited, each once, in order. Other policies may limit them all the same.
    pub unlimited: SmallVec<[u32; 4]>,
}

impl DescriptorPlan<'_> {
    /// Takes all charges back.
    pub(crate) fn clear(&mut self) {
        self.plan.clear();
        self.places.clear();
    }
}
