//! Why there is no answer.

use std::fmt;

use http::StatusCode;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why nothing is known about a request. A refusal is an answer, not an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address is none of a check door: `http://` or `https://`, a host, and neither user, path nor query. Nothing was asked.
    BadUrl,
    /// A certificate or key is none, or there is no root to believe. Nothing was asked.
    BadTls(Cause),
    /// No answer in time. What was asked may have been spent.
    Timeout,
    /// No connection, none that could be trusted, or one that broke. What was asked may have been spent.
    Unreachable(Cause),
    /// The question is not clear to the service, and so none is its request: too many header fields, say. Nothing was spent.
    Unclear {
        /// 400 or 413.
        status: StatusCode,
        /// What is wrong, as the service says it.
        document: String,
    },
    /// The service has too much to do just now. Nothing was spent.
    Overloaded,
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
            Self::BadUrl => f.write_str("the address is not like `http://host:port` or `https://host:port`"),
            Self::BadTls(cause) => write!(f, "TLS cannot be spoken: {cause}"),
            Self::Timeout => f.write_str("Tidegate did not answer in time"),
            Self::Unreachable(cause) => write!(f, "Tidegate cannot be reached: {}", deepest(&**cause)),
            Self::Unclear { status, document } => {
                write!(
                    f,
                    "Tidegate does not understand the request ({status}): {document}"
                )
            }
            Self::Overloaded => f.write_str("Tidegate has too much to do"),
            Self::Unexpected { status } => write!(f, "Tidegate answered {status}"),
            Self::Garbled(cause) => write!(f, "Tidegate's answer cannot be read: {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadTls(cause) | Self::Unreachable(cause) | Self::Garbled(cause) => Some(&**cause),
            _ => None,
        }
    }
}

/// What all the others came from: the first only says that something went wrong.
fn deepest<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e (dyn std::error::Error + 'static) {
    causes(error).last().unwrap_or(error)
}

/// `error`, what it came from, and so on.
pub(crate) fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}
