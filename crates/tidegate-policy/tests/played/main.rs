//! The examples, played: each file with the requests it is written for, and time that goes by.
#![allow(clippy::unwrap_used, clippy::panic, reason = "only tests")]

mod ai_tokens;
mod graphql;
mod login;
mod play;
mod public_api;
mod shop;
mod sms;
mod uploads;
mod webhooks;
