//! API keys: what a request carries, looked up by its hash.

mod credential;
mod digest;
mod keyring;
mod keys_file;
mod strip;
#[cfg(test)]
mod tests;

use crate::{ApiKeySettings, KeyPlace, Request, Treatment};

use super::Proof;
use credential::Credential;
pub use digest::{KeyDigest, WeakKey};
pub use keyring::Keyring;

pub(super) use credential::header_values;

/// How API keys are found, looked up and treated. Fixed at load.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    /// Where keys are found, and what each kind of key leads to.
    pub settings: ApiKeySettings,
    /// What the known keys stand for.
    pub keyring: Keyring,
}

/// A request refused for its API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRefusal<'a> {
    /// What is wrong with the key.
    pub fault: KeyFault,
    /// Where the key was looked for.
    pub places: &'a [KeyPlace],
}

/// What is wrong with the API key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyFault {
    /// There is none.
    Missing,
    /// It is not in the file, or not fit to be a key, or there are several.
    Unknown,
    /// The file calls it revoked.
    Revoked,
}

impl KeyFault {
    /// What bodies, the access log and metrics call it in `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing_api_key",
            Self::Unknown => "unknown_api_key",
            Self::Revoked => "revoked_api_key",
        }
    }
}

impl ApiKeys {
    /// What the API key of `request` proves.
    pub(super) fn prove(&self, request: &Request<'_>) -> Proof<KeyFault> {
        let known = match Credential::of(request, &self.settings) {
            Credential::Missing => return Proof::Absent,
            Credential::Unfit => None,
            Credential::Presented(key) => self.keyring.find(&key),
        };
        match known {
            None => Proof::Doubtful(KeyFault::Unknown),
            Some(entry) if entry.revoked => Proof::Doubtful(KeyFault::Revoked),
            Some(entry) => Proof::Holds(entry.identity.clone()),
        }
    }

    /// What a request with `fault` gets.
    pub(super) fn treatment(&self, fault: KeyFault) -> Treatment {
        match fault {
            KeyFault::Missing => self.settings.on_missing,
            KeyFault::Unknown => self.settings.on_unknown,
            KeyFault::Revoked => self.settings.on_revoked,
        }
    }

    /// A refusal for `fault`.
    pub(super) fn refusal(&self, fault: KeyFault) -> KeyRefusal<'_> {
        KeyRefusal {
            fault,
            places: &self.settings.places,
        }
    }
}

impl KeyPlace {
    /// Where it is, in words.
    pub(crate) fn in_words(&self) -> (&'static str, &str) {
        match self {
            Self::Header(name) => ("the header field ", name.as_str()),
            Self::Query(name) => ("the query parameter ", name.as_str()),
            Self::Cookie(name) => ("the cookie ", name.as_str()),
        }
    }
}
