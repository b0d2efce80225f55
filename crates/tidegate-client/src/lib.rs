//! Asks a Tidegate service whether a request may pass: `POST /v1/check` of its check door, over HTTP.
//!
//! ```
//! use http::Request;
//! use tidegate_client::{Check, Client, Error};
//!
//! async fn may_pass(request: &Request<()>, client: std::net::IpAddr) -> Result<bool, Error> {
//!     let tidegate = Client::new("http://127.0.0.1:8082")?;
//!     let answer = tidegate.check(&Check::of(request, client)).await?;
//!     Ok(answer.allowed)
//! }
//! ```
//!
//! Connections are kept and used again. Clones of a [`Client`] share them.

mod answer;
mod check;
mod client;
mod error;
mod fields;

pub use answer::{Answer, LimitState};
pub use check::Check;
pub use client::{Client, MOST_ANSWER_BYTES, TIMEOUT};
pub use error::Error;
