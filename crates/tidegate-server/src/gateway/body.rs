//! Bodies on their way: neither is ever held whole.

mod ahead;
mod owed;
mod pace;
mod request;
mod response;

use std::fmt;

pub(crate) use ahead::{Early, Reader};
pub(crate) use owed::Owed;
pub(crate) use pace::Pace;
pub(crate) use request::{Gate, Progress, RequestBody, UploadState};
pub(crate) use response::{OnBreak, ResponseBody, UpstreamBody};

/// A body broke off.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The connection it came over.
    Broken(hyper::Error),
    /// Nothing came in time.
    Stalled,
    /// It is longer than the bound.
    TooLong,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(error) => write!(f, "the body broke off: {error}"),
            Self::Stalled => f.write_str("the body stopped coming"),
            Self::TooLong => f.write_str("the body is too long"),
        }
    }
}

impl std::error::Error for BodyError {}
