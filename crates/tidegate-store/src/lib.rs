//! Where Tidegate keeps the state of limits: the [`Store`] trait and its backends.
//!
//! | backend | the truth is | one decision takes |
//! | --- | --- | --- |
//! | [`Memory`] | in this process | less than a microsecond |
//! | [`Redis`] | in a Redis or Valkey that instances share | one round trip to it |
//!
//! With the feature `conformance` there is a suite that every backend passes.

mod aside;
#[cfg(feature = "conformance")]
pub mod conformance;
mod huge_pages;
mod memory;
pub mod redis;
mod store;
mod turns;

pub use aside::give_back_aside;
pub use memory::Memory;
pub use redis::Redis;
pub use store::{NotRefunded, Store, StoreError};
pub use turns::{Charged, MOST_WAITING, NoPlace, Place, Turns, would_wait};
