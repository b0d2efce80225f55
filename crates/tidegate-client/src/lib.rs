//! Asks a Tidegate service whether a request may pass, or whatever descriptors stand for: `POST /v1/check` of its check door, over HTTP or HTTPS.
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
mod call;
mod check;
mod client;
mod error;
mod fields;
mod tls;

pub use answer::{Answer, LimitState};
pub use call::{Call, Descriptor};
pub use check::Check;
pub use client::{Client, MOST_ANSWER_BYTES, MOST_AT_ONCE, Question, TIMEOUT};
pub use error::Error;
pub use tls::Tls;
