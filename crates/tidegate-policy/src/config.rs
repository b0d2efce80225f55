//! What a policy file means: settings that cannot be wrong, with their defaults.

mod gateway;
mod identity;
mod upstream;

pub use gateway::{Bounds, Gateway, Timeouts, Trust};
pub use identity::{ApiKeySettings, IdentitySettings, KeyPlace, Treatment};
pub use upstream::{Upstream, UpstreamError};

use crate::{Answers, PolicySet};

/// Everything a policy file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the gateway listens and forwards to, and what it bounds.
    pub gateway: Gateway,
    /// Where counters are kept.
    pub store: StoreSettings,
    /// How a request becomes an identity.
    pub identity: IdentitySettings,
    /// How clients are told of their limits. Default: draft -11, with `X-RateLimit` fields, without jitter.
    pub answers: Answers,
    /// The policies, compiled.
    pub policies: PolicySet,
}

/// Where counters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreSettings {
    /// In this process.
    Memory {
        /// The most memory counters may take. Default: 64 MiB.
        bytes: usize,
    },
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self::Memory {
            bytes: 64 * 1024 * 1024,
        }
    }
}
