//! The pure heart of Tidegate: what a limit is, how each algorithm decides, and the in-memory table that
//! holds the state of millions of keys in a fixed number of bytes.
//!
//! Nothing here reads a clock, does I/O or logs: `now` is an argument and every answer is a value.
//!
//! | you want | look at |
//! | --- | --- |
//! | to say what is allowed | [`Limit`], [`Rate`] |
//! | to name a counter | [`Key`], [`KeyHasher`] |
//! | to ask for a decision | [`Charge`], [`Table::charge`], [`Table::charge_one`] |
//! | to keep counters in memory | [`Table`], [`TableSize`] |
//! | to read the answer | [`Decisions`], [`Decision`], [`Outcome`] |
//!
//! ```
//! use core::time::Duration;
//! use tidegate_core::{
//!     Charge, Cost, HoldId, KeyHasher, Limit, Mode, Outcome, Rate, Table, TableSize, Timestamp,
//! };
//!
//! // 60 per minute, 10 of them at once.
//! let limit = Limit::token_bucket(Rate::new(60, Duration::from_secs(60))?, 10)?;
//! let table = Table::new(TableSize { bucket_bytes: 24 * 100_000, ledger_bytes: TableSize::MIN_LEDGER_BYTES });
//! let hasher = KeyHasher::new(*b"sixteen secret b"); // draw it at random at start
//!
//! let charge = Charge {
//!     key: hasher.key(b"client 192.0.2.1"),
//!     limit: &limit,
//!     cost: Cost::ONE,
//!     mode: Mode::Enforce,
//!     hold: HoldId::default(),
//! };
//! let now = Timestamp::from_nanos(1_800_000_000_000_000_000); // your clock, read once per request
//! for left in (0..10).rev() {
//!     assert_eq!(table.charge_one(&charge, now).remaining, left);
//! }
//! let eleventh = table.charge_one(&charge, now);
//! assert_eq!(eleventh.outcome, Outcome::Deny { retry_after: Duration::from_secs(1) });
//! # Ok::<(), tidegate_core::LimitError>(())
//! ```
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
