//! The pure heart of Tidegate: what a limit is, how each algorithm decides, and the in-memory table that
//! holds the state of millions of keys in a fixed number of bytes.
//!
//! Nothing here reads a clock, does I/O or logs: `now` is an argument and every answer is a value.
//!
//! | you want | look at |
//! | --- | --- |
//! | to say what is allowed | [`Limit`], [`Rate`] |
//! | to name a counter | [`Key`], [`KeyHasher`] |
//! | to ask for a decision | [`Charge`] |
//! | to keep counters in memory | [`Table`], [`TableSize`] |
//! | to read the answer | [`Decisions`], [`Decision`], [`Outcome`] |
#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test, loom))]
extern crate std;

mod algorithm;
mod charge;
mod decision;
mod key;
mod limit;
mod sync;
mod table;
mod time;

#[cfg(feature = "calendar")]
pub use algorithm::calendar::CalendarUnit;
pub use algorithm::concurrency::MAX_SLOTS;
pub use algorithm::sliding_window_log::MAX_LOG_QUOTA;
pub use charge::{Charge, Cost, HoldId, MAX_CHARGES, Mode};
pub use decision::{Decision, Decisions, Outcome};
pub use key::{Key, KeyBuilder, KeyHasher};
pub use limit::{Algorithm, Limit, LimitError, Rate};
pub use table::{Table, TableSize, Usage};
pub use time::Timestamp;
