//! Who asks.

use std::sync::Arc;

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
