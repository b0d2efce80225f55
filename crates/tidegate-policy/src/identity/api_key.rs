//! API keys: what a request carries, looked up by its hash.

mod credential;
mod digest;
mod keyring;
mod keys_file;
mod stored;
mod strip;
#[cfg(test)]
mod tests;

use crate::{ApiKeySettings, KeyPlace, Request, Treatment};

use super::{Judging, Proof};
use credential::Credential;
pub use digest::{KeyDigest, WeakKey};
pub use keyring::Keyring;
pub use stored::{
    KeyBook, Lent, MAX_ABSENT_KEYS, MAX_KNOWN_KEYS, NoStoredKeys, Stored, StoredKey, StoredKeys, Told,
};

pub(super) use credential::header_values;

/// How API keys are found, looked up and treated. Fixed at load.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    /// Where keys are found, and what each kind of key leads to.
    pub settings: ApiKeySettings,
    /// What the keys of the file stand for. The store is asked for others, if the settings say so.
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
    /// It is nowhere, or not fit to be a key, or there are several.
    Unknown,
    /// It was revoked.
    Revoked,
    /// It is not in the file, and what the store says of it is not known here.
    Unanswered(KeyDigest),
}

impl KeyFault {
    /// What bodies, the access log and metrics call it in `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing_api_key",
            Self::Unknown => "unknown_api_key",
            Self::Revoked => "revoked_api_key",
            Self::Unanswered(_) => "api_keys_unavailable",
        }
    }
}

impl ApiKeys {
    /// What the API key of `request` proves.
    pub(super) fn prove(&self, request: &Request<'_>, judging: &Judging<'_>) -> Proof<KeyFault> {
        let key = match Credential::of(request, &self.settings) {
            Credential::Missing => return Proof::Absent,
            Credential::Unfit => return Proof::Doubtful(KeyFault::Unknown),
            Credential::Presented(key) => key,
        };
        // A weak key is never known, whatever the file or the store says.
        let Ok(digest) = KeyDigest::new(&key) else {
            return Proof::Doubtful(KeyFault::Unknown);
        };
        match self.keyring.find(&digest) {
            Some(entry) if entry.revoked => Proof::Doubtful(KeyFault::Revoked),
            Some(entry) => Proof::Holds(entry.identity.clone()),
            None if self.settings.stored.is_some() => stored(digest, judging),
            None => Proof::Doubtful(KeyFault::Unknown),
        }
    }

    /// What a request with `fault` gets.
    pub(super) fn treatment(&self, fault: KeyFault) -> Treatment {
        match fault {
            KeyFault::Missing => self.settings.on_missing,
            KeyFault::Unknown => self.settings.on_unknown,
            KeyFault::Revoked => self.settings.on_revoked,
            // As nobody in particular a customer would get the limits of strangers, and a revoked key be let in.
            KeyFault::Unanswered(_) => Treatment::Reject,
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

/// What the store says of the key, as far as that is known.
fn stored(digest: KeyDigest, judging: &Judging<'_>) -> Proof<KeyFault> {
    match judging.stored.find(&digest, judging.now) {
        None => Proof::Doubtful(KeyFault::Unanswered(digest)),
        Some(Stored::Absent) => Proof::Doubtful(KeyFault::Unknown),
        Some(Stored::Key(key)) if key.revoked => Proof::Doubtful(KeyFault::Revoked),
        Some(Stored::Key(key)) => Proof::Holds(key.identity(judging.now)),
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
