//! The real binary, as users start it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod admin;
mod check;
mod errors;
mod explain;
mod handover;
mod import;
mod keys;
mod process;
mod readme;
mod reload;
mod schema;
mod serve;
