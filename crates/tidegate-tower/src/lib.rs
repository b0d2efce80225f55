//! Rate limits of Rust services by Tidegate's policies: a [tower](https://docs.rs/tower) layer.
#![cfg_attr(
    all(feature = "local", feature = "remote"),
    doc = include_str!("../../../docs/rust.md")
)]

mod body;
mod decide;
mod layer;
#[cfg(feature = "local")]
mod local;
#[cfg(feature = "remote")]
mod remote;
mod service;
mod unable;
mod verdict;

pub use body::LimitedBody;
pub use decide::{Decide, Decided, Hold, Passed};
pub use layer::RateLimit;
#[cfg(feature = "local")]
pub use local::{BuildError, Builder, Limiter, NoStore};
#[cfg(feature = "remote")]
pub use remote::{OnFailure, Remote};
pub use service::RateLimited;
#[cfg(feature = "remote")]
pub use tidegate_client as client;
pub use verdict::{Course, Verdict};
#[cfg(feature = "local")]
pub use {tidegate_clock as clock, tidegate_policy as policy, tidegate_store as store};
