//! Why there is no configuration.

use std::net::SocketAddr;
use std::{error, fmt, io};

use tidegate_policy::Problems;

use super::TokenKeysFault;

/// Why there is no configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// A file is missing, too large, not text, or not ours to read.
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// The same, of the key file that a policy file names.
    UnreadableKeys {
        /// The key file.
        name: String,
        /// The policy file.
        named_in: String,
        /// Why.
        error: io::Error,
    },
    /// The same, of a file of addresses that a policy file names.
    UnreadableList {
        /// The file of addresses.
        name: String,
        /// The policy file.
        named_in: String,
        /// Why.
        error: io::Error,
    },
    /// The keys of an issuer of tokens cannot be used.
    TokenKeys {
        /// The file, or the environment variable, that should hold them.
        place: String,
        /// The policy file.
        named_in: String,
        /// What is wrong with them.
        fault: TokenKeysFault,
    },
    /// What belongs to the shared store cannot be used.
    Store {
        /// The store.
        store: String,
        /// Why.
        why: String,
    },
    /// The password of a door cannot be used.
    DoorPassword {
        /// Where the door is.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// TLS to an upstream cannot be spoken.
    UpstreamTls {
        /// The upstream.
        upstream: String,
        /// Why.
        why: String,
    },
    /// A file says something wrong.
    Invalid(Problems),
}

impl LoadError {
    pub(super) fn unreadable(name: impl fmt::Display, error: io::Error) -> Self {
        Self::Unreadable {
            name: name.to_string(),
            error,
        }
    }
}

impl From<Problems> for LoadError {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { name, error } => write!(f, "cannot read {name}: {}", in_words(error)),
            Self::UnreadableKeys {
                name,
                named_in,
                error,
            } => write!(
                f,
                "cannot read {name}, the API keys that {named_in} names: {} (`tidegate hash-key` makes its entries)",
                in_words(error)
            ),
            Self::UnreadableList {
                name,
                named_in,
                error,
            } => write!(
                f,
                "cannot read {name}, the addresses that {named_in} names: {} (write one address or network a line)",
                in_words(error)
            ),
            Self::TokenKeys {
                place,
                named_in,
                fault,
            } => write!(
                f,
                "cannot use {place}, the keys of tokens that {named_in} names: {fault}"
            ),
            Self::Store { store, why } => write!(f, "the store {store}: {why}"),
            Self::DoorPassword { address, why } => write!(f, "the password of the door at {address}: {why}"),
            Self::UpstreamTls { upstream, why } => write!(f, "`tls` of the upstream {upstream}: {why}"),
            Self::Invalid(problems) => problems.fmt(f),
        }
    }
}

impl error::Error for LoadError {}

/// What went wrong, without the system's error number.
pub(crate) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}
