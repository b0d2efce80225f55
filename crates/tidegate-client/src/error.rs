//! Why there is no answer.

use std::fmt;

use http::StatusCode;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why nothing is known about a request. A refusal is an answer, not an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address is none of a check door: `http://`, a host, and neither path nor query. Nothing was asked.
    BadUrl,
    /// No answer in time. What was asked may have been spent.
    Timeout,
    /// No connection, or one that broke. What was asked may have been spent.
    Unreachable(Cause),
    /// The question is not clear to the service, and so none is its request: too many header fields, say. Nothing was spent.
    Unclear {
        /// 400 or 413.
        status: StatusCode,
        /// What is wrong, as the service says it.
        document: String,
    },
    /// Something else answers there, or nothing could be decided.
    Unexpected {
        /// With this status.
        status: StatusCode,
    },
    /// The answer is no such, or longer than [`crate::MOST_ANSWER_BYTES`]. What was asked may have been spent.
    Garbled(Cause),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl => f.write_str("the address is not like `http://host:port`"),
            Self::Timeout => f.write_str("Tidegate did not answer in time"),
            Self::Unreachable(cause) => write!(f, "Tidegate cannot be reached: {cause}"),
            Self::Unclear { status, document } => {
                write!(
                    f,
                    "Tidegate does not understand the request ({status}): {document}"
                )
            }
            Self::Unexpected { status } => write!(f, "Tidegate answered {status}"),
            Self::Garbled(cause) => write!(f, "Tidegate's answer cannot be read: {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreachable(cause) | Self::Garbled(cause) => Some(&**cause),
            _ => None,
        }
    }
}
