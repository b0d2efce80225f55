//! How much work one evaluation may take.

use super::ExpressionFault;

/// The most steps of one evaluation. A step is a node of the expression, an item of a list, or some bytes of a text.
pub(crate) const MAX_STEPS: u32 = 20_000;

/// How many bytes of a text are compared, searched or copied in one step.
const BYTES_PER_STEP: usize = 32;

/// The most bytes of a text that an expression makes.
pub(crate) const MAX_MADE_BYTES: usize = 64 * 1024;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct Fuel {
    left: u32,
}

impl Fuel {
    pub(crate) fn new() -> Self {
        Self { left: MAX_STEPS }
    }

    /// Takes `steps`. Once they did not suffice, there are none: nothing else is evaluated after that.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), ExpressionFault> {
        let left = u32::try_from(steps)
            .ok()
            .and_then(|steps| self.left.checked_sub(steps));
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(ExpressionFault::TooMuchWork)
    }

    /// Takes what it costs to go through `bytes` of a text.
    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), ExpressionFault> {
        self.spend(bytes / BYTES_PER_STEP)
    }

    /// Takes what it costs to make a text of `bytes`.
    pub(super) fn make_bytes(&mut self, bytes: usize) -> Result<(), ExpressionFault> {
        if bytes > MAX_MADE_BYTES {
            return Err(ExpressionFault::TooLong);
        }
        self.spend_bytes(bytes)
    }
}
