//! Services of axum and tonic with the layer, over TCP.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test support")]

#[path = "../../examples/axum.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod axum_example;
#[path = "../../examples/tonic.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod tonic_example;

mod axum_service;
mod grpc;
mod identity;
mod policies;
mod remote;
mod slots;
mod web;
