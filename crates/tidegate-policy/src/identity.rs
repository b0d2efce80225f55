//! Who asks.

mod keyring;

use std::sync::Arc;

use crate::{ApiKeySettings, KeyPlace, Request};

pub use keyring::{KeyDigest, Keyring, WeakKey};

/// The name of an account, a user, a customer: what an API key or a token stands for. Never the credential itself.
pub type Subject = Arc<str>;

/// The name of a plan, such as `pro`, that a policy's `tiers` look up.
pub type Tier = Arc<str>;

/// Who asks, as far as it was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Nobody said who they are.
    #[default]
    Anonymous,
    /// A known API key.
    Known {
        /// Whom it stands for.
        subject: Subject,
        /// Their plan, if they have one.
        tier: Option<Tier>,
    },
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
    /// [`KeyRefusal`]: the treatments say that such a request is answered with 401.
    pub fn identify(&self, request: &Request<'_>) -> Result<Identity, KeyRefusal<'_>> {
        let _ = request;
        Ok(Identity::Anonymous)
    }
}
