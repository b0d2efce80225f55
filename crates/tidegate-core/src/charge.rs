//! What a request asks of one counter.

use crate::{Key, Limit};

/// The most charges one request may carry. Policy files that need more are refused at load.
pub const MAX_CHARGES: usize = 16;

/// How much a request spends. Zero only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// Spends nothing: the decision says what is left.
    pub const LOOK: Self = Self(0);
    /// One unit, what a plain request costs.
    pub const ONE: Self = Self(1);

    /// A cost of `units`.
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// The units spent.
    pub const fn units(self) -> u64 {
        self.0
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::ONE
    }
}

/// Whether a refusal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A refusal refuses the request.
    #[default]
    Enforce,
    /// A refusal is only told; this charge is then not spent, the others are.
    Shadow,
}

/// Names what one request holds under a concurrency limit, so that it can be given back.
///
/// Unique among the requests alive at one time; other algorithms do not look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub u64);

/// What a request asks of one counter: plain data that any store can carry out.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The counter.
    pub key: Key,
    /// What is allowed. State never holds the limit, so a changed one counts from the next request. Two limits that take turns
    /// on one key do not both hold: each may forget what only the other still counts. Give them keys of their own.
    pub limit: &'a Limit,
    /// What the request spends.
    pub cost: Cost,
    /// Whether a refusal refuses the request.
    pub mode: Mode,
    /// The name of the slot taken, for concurrency limits.
    pub hold: HoldId,
}
