//! Who asks.

mod credential;
mod digest;
mod keyring;
mod keys_file;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::{ApiKeySettings, KeyPlace, Request, Treatment};

use credential::Credential;
pub use digest::{KeyDigest, WeakKey};
pub use keyring::Keyring;

/// The name of an account, a user, a customer: what an API key or a token stands for. Never the credential itself.
pub type Subject = Arc<str>;

/// The name of a plan, such as `pro`, that a policy's `tiers` look up.
pub type Tier = Arc<str>;

/// What a token says about its subject: a JSON object.
pub type Claims = serde_json::Map<String, serde_json::Value>;

/// Who asks, as far as it was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Nobody said who they are.
    #[default]
    Anonymous,
    /// A known API key, or a token that holds.
    Known {
        /// Whom it stands for.
        subject: Subject,
        /// Their plan, if they have one.
        tier: Option<Tier>,
        /// Who issued the token; none for an API key. Subjects of different issuers are different, whatever they are called.
        issuer: Option<Arc<str>>,
        /// What the token says; none for an API key.
        claims: Option<Arc<Claims>>,
    },
}

impl Identity {
    /// Whom an API key stands for.
    pub fn of_api_key(subject: impl Into<Subject>, tier: Option<Tier>) -> Self {
        Self::Known {
            subject: subject.into(),
            tier,
            issuer: None,
            claims: None,
        }
    }

    /// What the token of the request says, if it has one that holds.
    pub fn claims(&self) -> Option<&Claims> {
        match self {
            Self::Known { claims, .. } => claims.as_deref(),
            Self::Anonymous => None,
        }
    }
}

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
    pub place: &'a KeyPlace,
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

impl ApiKeys {
    /// Who sent `request`.
    ///
    /// # Errors
    /// [`KeyRefusal`]: the settings say that such a request is answered with 401.
    pub fn identify(&self, request: &Request<'_>) -> Result<Identity, KeyRefusal<'_>> {
        let settings = &self.settings;
        let known = match Credential::of(request, &settings.place) {
            Credential::Missing => return self.treat(KeyFault::Missing, settings.on_missing),
            Credential::Unfit => None,
            Credential::Presented(key) => self.keyring.find(&key),
        };
        match known {
            None => self.treat(KeyFault::Unknown, settings.on_unknown),
            Some(entry) if entry.revoked => self.treat(KeyFault::Revoked, settings.on_revoked),
            Some(entry) => Ok(entry.identity.clone()),
        }
    }

    fn treat(&self, fault: KeyFault, treatment: Treatment) -> Result<Identity, KeyRefusal<'_>> {
        match treatment {
            Treatment::Anonymous => Ok(Identity::Anonymous),
            Treatment::Reject => Err(KeyRefusal {
                fault,
                place: &self.settings.place,
            }),
        }
    }
}
