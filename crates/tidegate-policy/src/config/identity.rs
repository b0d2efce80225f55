//! Settings of identity: where credentials are found, and what each kind leads to.

use http::HeaderName;

/// How a request becomes an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentitySettings {
    /// API keys. Default: none, everybody is anonymous.
    pub api_key: Option<ApiKeySettings>,
    /// How many leading bits of an IPv6 address count as one client. Default: 64.
    pub ipv6_prefix: u8,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self {
            api_key: None,
            ipv6_prefix: 64,
        }
    }
}

/// Where API keys are found in requests, and what each kind of key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeySettings {
    /// Where a request carries its key.
    pub place: KeyPlace,
    /// The file of known keys, as written: relative to the policy file's folder.
    pub keys: String,
    /// A request without a key. Default: anonymous.
    pub on_missing: Treatment,
    /// A key that is not in the file. Default: reject.
    pub on_unknown: Treatment,
    /// A key that the file calls revoked. Default: reject.
    pub on_revoked: Treatment,
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

/// What a request with a doubtful API key gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// A 401.
    Reject,
    /// Service, as nobody in particular.
    Anonymous,
}
