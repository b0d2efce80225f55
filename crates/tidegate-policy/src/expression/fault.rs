//! Why an expression had no value for a request.

use std::fmt;

/// Why an expression had no value for a request. Says nothing of what the request held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionFault {
    /// It reads something that the request does not have.
    Absent,
    /// A value is not of a type that it can be used as.
    WrongType,
    /// A value of the request is not UTF-8.
    NotText,
    /// A number is too large, or divided by zero.
    Arithmetic,
    /// A text cannot be read as the number that is wanted.
    Conversion,
    /// A place in a list that it does not have.
    NoSuchPlace,
    /// A text becomes too long.
    TooLong,
    /// It takes more work than one evaluation may.
    TooMuchWork,
    /// A cost below 0.
    NegativeCost,
}

/// In a few words: `a value is not there`.
impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "a value is not there",
            Self::WrongType => "a value is of another type",
            Self::NotText => "a value is not UTF-8",
            Self::Arithmetic => "a number is too large, or divided by zero",
            Self::Conversion => "a text is not a number",
            Self::NoSuchPlace => "a list has no such place",
            Self::TooLong => "a text becomes too long",
            Self::TooMuchWork => "it takes too much work",
            Self::NegativeCost => "a cost is below 0",
        })
    }
}

impl std::error::Error for ExpressionFault {}
