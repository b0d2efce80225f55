//! Settings of signed tokens: whose, where, and under which keys.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Uri};
use jsonwebtoken::{Algorithm, AlgorithmFamily};

use super::Treatment;
use crate::identity::ClaimPath;

/// Which tokens hold, and what the others lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtSettings {
    /// Whose tokens hold, at least one. A token is judged by the rules of the issuer that it names.
    pub issuers: Vec<JwtIssuer>,
    /// Where a request may carry its token, at least one place.
    pub places: Vec<TokenPlace>,
    /// Whether an API key may stand in one of the places, so that what looks like no token is none.
    pub beside_api_keys: bool,
    /// A request without a token. Default: anonymous.
    pub on_missing: Treatment,
    /// A request with a token that does not hold. Default: reject.
    pub on_invalid: Treatment,
}

/// One issuer of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtIssuer {
    /// What its tokens say in `iss`, exactly.
    pub issuer: Arc<str>,
    /// Of what tokens may say in `aud`, one has to be here.
    pub audiences: Vec<String>,
    /// With which algorithms it signs, at least one.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Where its keys are.
    pub keys: JwtKeys,
    /// How long the keys of a URL are used before they are fetched again. Default: 5 min.
    pub refresh: Duration,
    /// By how much its clock and ours may differ. Default: 30 s.
    pub leeway: Duration,
    /// The claim that says whom a token stands for. Default: `sub`.
    pub subject: ClaimPath,
    /// What is put before the subject. Default: nothing.
    pub subject_prefix: String,
    /// The claim that says their plan. Default: none.
    pub tier: Option<ClaimPath>,
}

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwtKeys {
    /// Public keys in a JSON file, relative to the policy file's folder.
    File(String),
    /// Public keys at this `http` or `https` address.
    Url(Uri),
    /// A shared secret in this environment variable.
    SecretEnv(String),
    /// A shared secret in this file, relative to the policy file's folder.
    SecretFile(String),
}

/// Where a request carries its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenPlace {
    /// In a header field; in `Authorization` after the scheme `Bearer`.
    Header(HeaderName),
    /// In a cookie.
    Cookie(String),
}

/// An algorithm that signs tokens (RFC 7518 section 3.1, RFC 8037): `HS256` to `HS512`, `RS256` to `RS512`, `PS256` to
/// `PS512`, `ES256`, `ES384`, `EdDSA`. There is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JwtAlgorithm(pub(crate) Algorithm);

impl JwtAlgorithm {
    /// All of them, as they are written.
    pub(crate) const NAMES: [&'static str; 12] = [
        "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
        "EdDSA",
    ];

    /// Whether both sides share its key, so that whoever can verify can sign.
    pub fn is_symmetric(self) -> bool {
        self.0.family() == AlgorithmFamily::Hmac
    }

    /// The fewest bytes of a shared secret: as many as the hash has (RFC 7518 section 3.2).
    pub fn secret_bytes(self) -> usize {
        match self.0 {
            Algorithm::HS512 => 64,
            Algorithm::HS384 => 48,
            _ => 32,
        }
    }
}

impl FromStr for JwtAlgorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        Algorithm::from_str(text).map(Self).map_err(|_| UnknownAlgorithm)
    }
}

/// As tokens write it.
impl fmt::Display for JwtAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// No algorithm that is known here is called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm;
