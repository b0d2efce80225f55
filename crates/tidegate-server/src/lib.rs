//! The native process of Tidegate: the gateway and what it needs to run.

pub mod access_log;
pub mod admin;
pub mod boot;
pub mod demo;
mod doors;
#[doc(hidden)]
pub mod fuzzed;
pub mod gateway;
mod handover;
pub mod key_lookups;
pub mod key_store;
pub mod live;
pub mod load;
mod loader;
pub mod logs;
pub mod metrics;
pub mod outlet;
pub mod pipeline;
mod record;
pub mod reload;
pub mod serve;
pub mod signals;
pub mod sockets;
mod supervisor;
pub mod tls;
pub mod token_keys;
pub mod upstream;

pub use tidegate_clock as clock;
pub use tidegate_counters as counters;
