//! What one request asks of the store.

use smallvec::SmallVec;
use tidegate_core::{Charge, Mode};

use crate::document::policy::OnError;
use crate::{ExpressionFault, Override, Policy, PolicyLimit, Tier};

/// What one request asks of the store, and which limit of which policy each charge came from.
///
/// No charges and no refusal: no policy speaks about the request, it passes and is not limited.
#[derive(Clone, Debug, Default)]
pub struct Plan<'set> {
    /// The charges, all or nothing, at most [`tidegate_core::MAX_CHARGES`].
    pub charges: SmallVec<[Charge<'set>; 4]>,
    /// Where each charge came from, in the same order.
    pub sources: SmallVec<[Source<'set>; 4]>,
    /// The request is refused before any store is asked; then there are no charges.
    pub refusal: Option<Refusal<'set>>,
    /// Refusals by policies in shadow mode: told, not carried out.
    pub shadow_refusals: SmallVec<[Refusal<'set>; 1]>,
    /// Expressions that had no value for the request, to be counted. What became of the request then is told by the rest.
    pub failures: SmallVec<[ExpressionFailure<'set>; 1]>,
}

impl<'set> Plan<'set> {
    /// Refuses the request, or tells that `mode` would have: the first refusal counts.
    pub(crate) fn refuse(&mut self, refusal: Refusal<'set>, mode: Mode) {
        match mode {
            Mode::Enforce => _ = self.refusal.get_or_insert(refusal),
            Mode::Shadow => self.shadow_refusals.push(refusal),
        }
    }

    /// Notes that `when` or `cost` of a policy had no value, and refuses the request if the policy says so.
    pub(crate) fn fail(&mut self, failure: ExpressionFailure<'set>, on_error: OnError) {
        let ExpressionFailure { policy, field, .. } = failure;
        self.failures.push(failure);
        match on_error {
            OnError::Deny => self.refuse(Refusal::ExpressionFailed { policy, field }, policy.mode),
            OnError::Skip => {}
        }
    }

    /// Takes all charges back.
    pub(crate) fn clear(&mut self) {
        self.charges.clear();
        self.sources.clear();
    }
}

/// Where a charge came from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'set> {
    /// The policy.
    pub policy: &'set Policy,
    /// Its place in [`crate::PolicySet::policies`].
    pub policy_index: usize,
    /// The limit.
    pub limit: &'set PolicyLimit,
    /// Its place among the limits of its terms, from 0.
    pub limit_index: usize,
    /// Whose limit it is.
    pub terms: Terms<'set>,
}

/// Which of a policy's limits hold for a request.
#[derive(Clone, Copy, Debug)]
pub enum Terms<'set> {
    /// The policy's own.
    Own,
    /// Those of a tier.
    Tier(&'set Tier),
    /// Those of one subject.
    Override(&'set Override),
}

impl<'set> Terms<'set> {
    /// The tier whose limits they are, if they are a tier's.
    pub fn tier(self) -> Option<&'set str> {
        match self {
            Self::Tier(tier) => Some(tier),
            Self::Own | Self::Override(_) => None,
        }
    }
}

/// An expression that had no value for a request.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionFailure<'set> {
    /// The policy.
    pub policy: &'set Policy,
    /// Its place in [`crate::PolicySet::policies`].
    pub policy_index: usize,
    /// Which of its expressions.
    pub field: ExpressionField,
    /// Why it had none.
    pub fault: ExpressionFault,
}

/// Where an expression stands in a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionField {
    /// `when`.
    When,
    /// A part of `key`.
    Key,
    /// `cost`.
    Cost,
}

impl ExpressionField {
    /// Every field that can fail.
    pub const ALL: [Self; 3] = [Self::When, Self::Key, Self::Cost];

    /// The field as the file names it: `when`.
    pub fn name(self) -> &'static str {
        match self {
            Self::When => "when",
            Self::Key => "key",
            Self::Cost => "cost",
        }
    }
}

/// Why a request is refused before any store is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Refusal<'set> {
    /// A policy with `on_missing: deny` counts by something the request lacks, has empty, or has several times.
    MissingKeyPart {
        /// The policy.
        policy: &'set Policy,
        /// The part, as the file writes it: `header.x-tenant`.
        part: &'set str,
    },
    /// A policy looks at the body, and it is too long for that.
    BodyTooLarge {
        /// The policy.
        policy: &'set Policy,
        /// How many bytes it looks at.
        max_bytes: usize,
    },
    /// `when` or `cost` of a policy with `on_error: deny` has no value for the request.
    ExpressionFailed {
        /// The policy.
        policy: &'set Policy,
        /// Which of its expressions.
        field: ExpressionField,
    },
    /// The path can be read in too many ways, or more limits match than one request can be charged for. Plain requests
    /// cannot get here: the compiler sees to it, or warns where it cannot.
    AmbiguousPath,
    /// A call of the rate limit service meets more limits than one plan carries.
    TooManyLimits,
}

impl Refusal<'_> {
    /// What bodies, the access log and metrics call it in `error`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::MissingKeyPart { .. } => "missing_key_part",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::ExpressionFailed { .. } => "expression_failed",
            Self::AmbiguousPath => "ambiguous_path",
            Self::TooManyLimits => "too_many_limits",
        }
    }
}
