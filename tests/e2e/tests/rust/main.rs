//! Rust services that ask Tidegate's check door, with the real program behind it: `docs/rust.md`.

#[path = "../../../../crates/tidegate-tower/examples/axum.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod axum_example;
#[path = "../../../../crates/tidegate-tower/examples/remote.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod remote_example;

mod client;
mod layer;
mod page;
mod secure;
mod service;
mod shared;
