//! The native process of Tidegate: the gateway and what it needs to run.

pub mod demo;
pub mod logs;
pub mod signals;
