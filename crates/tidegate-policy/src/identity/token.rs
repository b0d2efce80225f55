//! Signed tokens: JSON Web Tokens (RFC 7519) in the compact form of JSON Web Signatures (RFC 7515), judged as RFC 8725 advises.

mod cache;
mod claims;
mod jws;
mod key_set;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;

use tidegate_core::Timestamp;

use super::Proof;
use super::api_key::header_values;
use crate::set::parts;
use crate::{Identity, JwtIssuer, JwtSettings, Request, StoredKeys, TokenPlace, Treatment};

pub use cache::TokenCache;
use cache::{Digest, Seen};
pub use claims::ClaimPath;
pub(crate) use claims::text_of;
use jws::Jws;
pub use key_set::{BadKeySet, KeySet, KeySets, MAX_KEY_SET_BYTES, WeakSecret};

/// The longest token, in bytes. It has to fit into a header field beside others.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Tells what is wrong with signed tokens, and whom the others stand for. Fixed at load.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Whose tokens hold, where they are found, what doubtful ones lead to.
    pub settings: JwtSettings,
}

/// The keys of the issuers, which change while requests come.
pub trait KeySource {
    /// The keys as they are now, for each issuer in the order of the settings.
    fn key_sets(&self) -> Arc<KeySets>;

    /// A token of this issuer names a key that is not among them: the issuer may have made a new one.
    fn lacks_key(&self, issuer_index: usize);
}

/// What credentials are judged with besides the settings.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// The time.
    pub now: Timestamp,
    /// The keys.
    pub keys: &'a dyn KeySource,
    /// What was found out about earlier tokens.
    pub cache: &'a RefCell<TokenCache>,
    /// What a store says of API keys.
    pub stored: &'a dyn StoredKeys,
}

/// What is wrong with the token of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenFault {
    /// There is none.
    Missing,
    /// There are several, and nobody can say which counts.
    Several,
    /// It is too long, too deep, or no signed token, or one that needs what is not known here (`crit`).
    Malformed,
    /// Its issuer is nobody of those in the settings.
    UnknownIssuer,
    /// It is signed with an algorithm that the settings or the key do not allow.
    Algorithm,
    /// No key of its issuer is the one it names.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It was made for somebody else.
    Audience,
    /// It does not say until when it holds.
    NoExpiry,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYet,
    /// The claim that names its subject is missing or no name.
    NoSubject,
    /// The keys of its issuer are not there yet: nobody knows whether it holds.
    NoKeys,
}

impl TokenFault {
    /// What bodies call it in `error`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing_token",
            Self::Expired => "expired_token",
            Self::NoKeys => "identity_unavailable",
            _ => "invalid_token",
        }
    }
}

impl Tokens {
    /// What the token of `request` proves.
    pub(super) fn prove(&self, request: &Request<'_>, judging: &Judging<'_>) -> Proof<TokenFault> {
        let token = match self.find(request) {
            Ok(Some(token)) => token,
            Ok(None) => return Proof::Absent,
            Err(fault) => return Proof::Doubtful(fault),
        };
        if token.len() > MAX_TOKEN_BYTES {
            return Proof::Doubtful(TokenFault::Malformed);
        }
        let digest = Digest::of(token);
        let keys = judging.keys.key_sets();
        let mut cache = judging.cache.borrow_mut();
        cache.follow(keys.generation);
        match cache.seen(&digest, judging.now) {
            Some(Seen::Holds(identity)) => return Proof::Holds(identity),
            Some(Seen::Faulty(fault)) => return Proof::Doubtful(fault),
            None => {}
        }
        match self.judge(token, &keys, judging) {
            Ok(Judged { identity, until }) => {
                cache.keep(digest, token.len(), identity.clone(), until);
                Proof::Holds(identity)
            }
            Err(fault) => {
                cache.keep_fault(digest, fault);
                Proof::Doubtful(fault)
            }
        }
    }

    /// What a request with `fault` gets.
    pub(super) fn treatment(&self, fault: TokenFault) -> Treatment {
        match fault {
            TokenFault::Missing => self.settings.on_missing,
            _ => self.settings.on_invalid,
        }
    }

    /// The only token of `request`.
    fn find<'r>(&self, request: &Request<'r>) -> Result<Option<&'r [u8]>, TokenFault> {
        let mut found = None;
        for place in &self.settings.places {
            match place {
                TokenPlace::Header(name) => {
                    for value in header_values(request.headers, name) {
                        self.take(value, &mut found)?;
                    }
                }
                TokenPlace::Cookie(name) => {
                    for value in parts::cookies(request.headers, name) {
                        self.take(value, &mut found)?;
                    }
                }
            }
        }
        Ok(found)
    }

    fn take<'r>(&self, value: &'r [u8], found: &mut Option<&'r [u8]>) -> Result<(), TokenFault> {
        let value = value.trim_ascii();
        if value.is_empty() || (self.settings.beside_api_keys && !is_shaped_as_token(value)) {
            return Ok(());
        }
        match found.replace(value) {
            None => Ok(()),
            Some(_) => Err(TokenFault::Several),
        }
    }

    fn judge(&self, token: &[u8], keys: &KeySets, judging: &Judging<'_>) -> Result<Judged, TokenFault> {
        let jws = Jws::parse(token)?;
        let named = claims::issuer(&jws.claims).ok_or(TokenFault::UnknownIssuer)?;
        let (issuer_index, issuer) = self.issuer(named).ok_or(TokenFault::UnknownIssuer)?;
        let algorithm = jws.algorithm.ok_or(TokenFault::Algorithm)?;
        if !issuer.algorithms.iter().any(|allowed| allowed.0 == algorithm) {
            return Err(TokenFault::Algorithm);
        }
        let keys = keys.of(issuer_index).ok_or(TokenFault::NoKeys)?;
        let verified = keys.verify(&jws, algorithm);
        if verified == Err(TokenFault::UnknownKey) {
            judging.keys.lacks_key(issuer_index);
        }
        verified?;
        let until = claims::holds(&jws.claims, issuer, judging.now)?;
        Ok(Judged {
            identity: identity(jws, issuer)?,
            until,
        })
    }

    fn issuer(&self, named: &str) -> Option<(usize, &JwtIssuer)> {
        let mut issuers = self.settings.issuers.iter().enumerate();
        issuers.find(|(_, issuer)| &*issuer.issuer == named)
    }
}

/// A token that holds.
struct Judged {
    identity: Identity,
    until: Timestamp,
}

/// Whom a token stands for.
fn identity(jws: Jws<'_>, issuer: &JwtIssuer) -> Result<Identity, TokenFault> {
    let subject = issuer.subject.name(&jws.claims).ok_or(TokenFault::NoSubject)?;
    let tier = issuer.tier.as_ref().and_then(|tier| tier.name(&jws.claims));
    Ok(Identity::Known {
        subject: format!("{}{subject}", issuer.subject_prefix).into(),
        tier: tier.map(|tier| Arc::from(&*tier)),
        issuer: Some(issuer.issuer.clone()),
        claims: Some(Arc::new(jws.claims)),
    })
}

/// Whether `value` looks like a signed token: three parts, and the first is the beginning of a JSON object in base64.
pub(super) fn is_shaped_as_token(value: &[u8]) -> bool {
    value.starts_with(b"eyJ") && value.iter().filter(|byte| **byte == b'.').count() == 2
}
