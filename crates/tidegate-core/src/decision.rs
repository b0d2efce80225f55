//! What a counter answers. A refusal is an answer, never an error.

use core::time::Duration;

use smallvec::SmallVec;

use crate::Mode;

/// What one limit says to one charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the charge passes.
    pub outcome: Outcome,
    /// Units that could still be spent at once after this decision, rounded down.
    pub remaining: u64,
    /// How long until the counter equals one never used, if nothing more is spent; rounded up.
    pub reset_after: Duration,
}

/// Whether a charge passes, and when it could if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passes, after waiting `delay` (zero unless the limit is a leaky bucket).
    Allow {
        /// How long the door holds the request back before it goes on.
        delay: Duration,
    },
    /// It does not pass now.
    Deny {
        /// The shortest wait after which the same charge passes if nobody else spends; never zero.
        retry_after: Duration,
    },
    /// It can never pass: it costs more than the limit holds when untouched.
    Never,
}

impl Outcome {
    /// Passes at once.
    pub const ALLOW: Self = Self::Allow {
        delay: Duration::ZERO,
    };

    /// Whether the charge passes, now or after its delay.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Allow { .. })
    }
}

/// The answers to all charges of one request, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Whether the charges were spent. False as soon as one enforced charge was refused: then nothing was spent anywhere,
    /// and the decisions of the others tell what they would have answered, with `remaining` unspent.
    pub charged: bool,
    /// One decision per charge.
    pub each: SmallVec<[Decision; 4]>,
}

impl Decisions {
    /// The answer to a single charge.
    #[inline(always)]
    pub(crate) fn of_one(decision: Decision, mode: Mode) -> Self {
        let mut decisions = Self {
            charged: decision.outcome.passes() || mode == Mode::Shadow,
            each: SmallVec::new(),
        };
        decisions.each.push(decision);
        decisions
    }
}
