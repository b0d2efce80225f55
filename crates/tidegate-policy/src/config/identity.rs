//! Settings of identity: where credentials are found, and what each kind leads to.

mod jwt;

use std::time::Duration;

use http::HeaderName;

pub use jwt::{JwtAlgorithm, JwtIssuer, JwtKeys, JwtSettings, TokenPlace};

/// How a request becomes an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentitySettings {
    /// API keys. Default: none.
    pub api_key: Option<ApiKeySettings>,
    /// Signed tokens. Default: none.
    pub jwt: Option<JwtSettings>,
    /// Which proof is asked first. Default: tokens.
    pub order: ProofOrder,
    /// How many leading bits of an IPv6 address count as one client. Default: 64.
    pub ipv6_prefix: u8,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self {
            api_key: None,
            jwt: None,
            order: ProofOrder::default(),
            ipv6_prefix: 64,
        }
    }
}

/// Which proof of identity is asked first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProofOrder {
    /// A token, then an API key.
    #[default]
    JwtFirst,
    /// An API key, then a token.
    ApiKeyFirst,
}

/// Where API keys are found in requests, and what each kind of key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeySettings {
    /// Where a request may carry its key, at least one place, in the order in which they are looked at.
    pub places: Vec<KeyPlace>,
    /// Whether a token may stand in one of the places, so that what looks like one is none of ours.
    pub beside_tokens: bool,
    /// The file of known keys, as written: relative to the policy file's folder.
    pub keys: Option<String>,
    /// How keys of the shared store are believed that are not in the file; none if it has none.
    pub stored: Option<StoredKeySettings>,
    /// Whether the key is taken off requests before they are forwarded. Default: no.
    pub strip: bool,
    /// A request without a key. Default: anonymous.
    pub on_missing: Treatment,
    /// A key that is nowhere. Default: reject.
    pub on_unknown: Treatment,
    /// A key that was revoked. Default: reject.
    pub on_revoked: Treatment,
}

/// How long it is believed what the shared store says of API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredKeySettings {
    /// How long without asking again: a revoked key stops within this time. Default: 10 s.
    pub cache: Duration,
    /// How long a known key is believed while the store does not answer. Default: 5 minutes.
    pub stale: Duration,
}

impl Default for StoredKeySettings {
    fn default() -> Self {
        Self {
            cache: Duration::from_secs(10),
            stale: Duration::from_secs(5 * 60),
        }
    }
}

/// Where a request carries its API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header field.
    Header(HeaderName),
    /// In a query parameter.
    Query(String),
    /// In a cookie.
    Cookie(String),
}

/// What a request with a doubtful credential gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// A 401.
    Reject,
    /// Service, as nobody in particular.
    Anonymous,
}
