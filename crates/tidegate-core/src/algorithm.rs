//! One file per algorithm: pure steps from state, cost and `now` to a decision and the state after it.
//!
//! Buckets keep one `u64` per key ([`bucket`]). The others keep a [`state::State`] and share one way to
//! read it and to write it ([`tally`]).

pub(crate) mod bucket;
#[cfg(feature = "calendar")]
pub(crate) mod calendar;
pub(crate) mod cells;
pub(crate) mod concurrency;
pub(crate) mod fixed_window;
pub(crate) mod recent;
pub(crate) mod sliding_window;
pub(crate) mod sliding_window_log;
pub(crate) mod state;
pub(crate) mod tally;

/// How far clocks that share state may disagree: what one of them still counts, another must not have dropped.
pub(crate) const MAX_SKEW_NS: u64 = 5_000_000_000;

/// How urgent it is to remember a counter that has `spent` of a `whole`: 0 up to a quarter, to 3 above three quarters.
#[inline]
pub(crate) fn quarters(spent: u64, whole: u64) -> u8 {
    u8::from(spent > whole / 4) + u8::from(spent > whole / 2) + u8::from(spent > whole / 4 * 3)
}

#[cfg(test)]
mod tests;
