//! One file per algorithm: pure steps from state, cost and `now` to a decision and the state after it.

pub(crate) mod bucket;
pub(crate) mod cells;
