//! What was found out about the charges of one request, where they are decided in several places.

use smallvec::SmallVec;
use tidegate_core::{Decision, Mode};

use crate::StoreFailure;

/// What was found out about the charges of a plan.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// One for each charge, in the plan's order.
    pub each: SmallVec<[Finding; 4]>,
    /// Why the shared store could not decide, if it was asked and did not.
    pub failure: Option<StoreFailure>,
}

/// What was found out about one charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// What its counter said; while the shared store fails, for a policy with `on_store_failure: local` the counter that took its place.
    Decided(Decision),
    /// It was not asked: another limit had refused the request already, or the store's failure had.
    Unasked,
    /// The shared store could not decide, and no counter took its place.
    Failed,
}

impl Finding {
    /// What the counter said, if one was asked.
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Decided(decision) => Some(*decision),
            Self::Unasked | Self::Failed => None,
        }
    }

    /// Whether it stops a request whose charge has `mode`.
    pub(crate) fn refuses(&self, mode: Mode) -> bool {
        mode == Mode::Enforce && self.decision().is_some_and(|decision| !decision.outcome.passes())
    }
}

impl Findings {
    /// Whether what the request asks for was spent, as far as it was decided; `modes` are those of its charges.
    pub fn charged(&self, modes: impl Iterator<Item = Mode>) -> bool {
        let refused = self
            .each
            .iter()
            .zip(modes)
            .any(|(finding, mode)| finding.refuses(mode));
        !refused
    }
}
