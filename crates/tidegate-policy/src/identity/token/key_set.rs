//! The keys of an issuer: public ones of a JSON Web Key Set (RFC 7517), or a shared secret.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::CryptoProvider;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::Value;

use super::TokenFault;
use super::jws::{Jws, MAX_KEY_ID_BYTES};
use crate::JwtAlgorithm;

/// The longest text of a key set, in bytes.
pub const MAX_KEY_SET_BYTES: usize = 256 * 1024;

/// The most keys of a set.
const MAX_KEYS: usize = 100;

/// How many keys a signature is tried with, where several fit a token.
const MAX_TRIES: usize = 4;

/// How long the modulus of an RSA key is, in bytes: 2048 to 8192 bits (RFC 7518 section 3.3; more would only cost time).
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// The keys of one issuer.
pub struct KeySet {
    keys: Vec<Key>,
}

struct Key {
    id: Option<Box<str>>,
    kind: Kind,
    /// The algorithm it is made for, if it says so.
    only: Option<Algorithm>,
    decoding: DecodingKey,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Secret,
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeySet {
    /// The keys of a JSON Web Key Set that verify signatures. Keys of other kinds are left out, and so are secrets: who can
    /// read the set could sign with them.
    ///
    /// # Errors
    /// [`BadKeySet`]: there is no key to be used.
    pub fn parse(text: &[u8]) -> Result<Self, BadKeySet> {
        if text.len() > MAX_KEY_SET_BYTES {
            return Err(BadKeySet::TooLong);
        }
        let set: Value = serde_json::from_slice(text).map_err(|_| BadKeySet::NotJson)?;
        let keys = set
            .get("keys")
            .and_then(Value::as_array)
            .ok_or(BadKeySet::NoList)?;
        if keys.len() > MAX_KEYS {
            return Err(BadKeySet::TooMany);
        }
        let keys: Vec<Key> = keys.iter().filter_map(Key::read).collect();
        if keys.is_empty() {
            return Err(BadKeySet::NoneFits);
        }
        Ok(Self { keys })
    }

    /// The one secret that is shared with the issuer.
    ///
    /// # Errors
    /// [`WeakSecret`]: it is shorter than what `algorithms` make of it.
    pub fn of_secret(secret: &[u8], algorithms: &[JwtAlgorithm]) -> Result<Self, WeakSecret> {
        let least = algorithms.iter().map(|algorithm| algorithm.secret_bytes()).max();
        let least = least.unwrap_or(1);
        let weak = WeakSecret { least };
        if secret.len() < least {
            return Err(weak);
        }
        let key = Key {
            id: None,
            kind: Kind::Secret,
            only: None,
            decoding: DecodingKey::from_secret(secret).map_err(|_| weak)?,
        };
        Ok(Self { keys: vec![key] })
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether one of the keys signed `jws` with `algorithm`.
    pub(super) fn verify(&self, jws: &Jws<'_>, algorithm: Algorithm) -> Result<(), TokenFault> {
        if !self.keys.iter().any(|key| key.fits(algorithm)) && !self.keys.is_empty() {
            return Err(self.misfit(jws));
        }
        let mut tries = 0;
        for key in self.candidates(jws, algorithm).take(MAX_TRIES) {
            tries += 1;
            if key.verifies(jws, algorithm)? {
                return Ok(());
            }
        }
        Err(if tries == 0 {
            TokenFault::UnknownKey
        } else {
            TokenFault::Signature
        })
    }

    /// Why no key fits the algorithm: the one that is named is of another kind, or it is not here.
    fn misfit(&self, jws: &Jws<'_>) -> TokenFault {
        match &jws.key_id {
            Some(id) if !self.keys.iter().any(|key| key.is_called(id)) => TokenFault::UnknownKey,
            _ => TokenFault::Algorithm,
        }
    }

    /// The keys that may have signed `jws`: those it names, else those that have no name; all if it names none.
    fn candidates<'s>(&'s self, jws: &'s Jws<'_>, algorithm: Algorithm) -> impl Iterator<Item = &'s Key> {
        let named = jws.key_id.as_deref();
        let is_here = named.is_some_and(|id| self.keys.iter().any(|key| key.is_called(id)));
        self.keys.iter().filter(move |key| {
            key.fits(algorithm)
                && match named {
                    Some(id) if is_here => key.is_called(id),
                    Some(_) => key.id.is_none(),
                    None => true,
                }
        })
    }
}

impl Key {
    /// The key in `jwk`; none if it is no public key for signatures, or not as it should be.
    fn read(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if text("use").is_some_and(|purpose| purpose != "sig") || !may_verify(jwk.get("key_ops")) {
            return None;
        }
        let only = match text("alg") {
            Some(name) => Some(name.parse().ok()?),
            None => None,
        };
        let (kind, decoding) = match (text("kty")?, text("crv")) {
            ("RSA", _) => (Kind::Rsa, rsa(text("n")?, text("e")?)?),
            ("EC", Some("P-256")) => (Kind::P256, point(text("x")?, text("y")?, 32)?),
            ("EC", Some("P-384")) => (Kind::P384, point(text("x")?, text("y")?, 48)?),
            ("OKP", Some("Ed25519")) => (Kind::Ed25519, edwards(text("x")?)?),
            _ => return None,
        };
        let id = text("kid").filter(|id| id.len() <= MAX_KEY_ID_BYTES);
        let key = Self {
            id: id.map(Into::into),
            kind,
            only: None,
            decoding,
        };
        let suits = only.is_none_or(|algorithm| key.fits(algorithm));
        suits.then_some(Self { only, ..key })
    }

    fn is_called(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// Whether it may verify what `algorithm` signed: never a secret's with a public key, and each curve its own.
    fn fits(&self, algorithm: Algorithm) -> bool {
        let kind = match (algorithm.family(), algorithm) {
            (AlgorithmFamily::Hmac, _) => Kind::Secret,
            (AlgorithmFamily::Rsa, _) => Kind::Rsa,
            (AlgorithmFamily::Ec, Algorithm::ES384) => Kind::P384,
            (AlgorithmFamily::Ec, _) => Kind::P256,
            (AlgorithmFamily::Ed, _) => Kind::Ed25519,
        };
        self.kind == kind && self.only.is_none_or(|only| only == algorithm)
    }

    /// Whether it made the signature of `jws`. An error if there is nothing to verify with in this process.
    fn verifies(&self, jws: &Jws<'_>, algorithm: Algorithm) -> Result<bool, TokenFault> {
        let provider = CryptoProvider::try_get_default().ok_or(TokenFault::NoKeys)?;
        let verifier = (provider.verifier_factory)(&algorithm, &self.decoding);
        Ok(verifier.is_ok_and(|verifier| verifier.verify(jws.signed, &jws.signature).is_ok()))
    }
}

fn may_verify(operations: Option<&Value>) -> bool {
    match operations {
        None => true,
        Some(Value::Array(operations)) => operations.iter().any(|operation| operation == "verify"),
        Some(_) => false,
    }
}

fn rsa(modulus: &str, exponent: &str) -> Option<DecodingKey> {
    let (modulus, exponent) = (bytes(modulus)?, bytes(exponent)?);
    let digits = modulus.iter().skip_while(|byte| **byte == 0).count();
    let fits = RSA_BYTES.contains(&digits) && (1..=8).contains(&exponent.len());
    fits.then(|| DecodingKey::from_rsa_raw_components(&modulus, &exponent))
}

fn point(x: &str, y: &str, coordinate_bytes: usize) -> Option<DecodingKey> {
    let (x, y) = (bytes(x)?, bytes(y)?);
    // Uncompressed, as SEC 1 writes it: what both providers take.
    let point = [&[4], &x[..], &y[..]].concat();
    let fits = x.len() == coordinate_bytes && y.len() == coordinate_bytes;
    fits.then(|| DecodingKey::from_ec_der(&point))
}

fn edwards(x: &str) -> Option<DecodingKey> {
    let x = bytes(x)?;
    (x.len() == 32).then(|| DecodingKey::from_ed_der(&x))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// How many keys of which kinds, never the keys.
impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} keys)", self.keys.len())
    }
}

/// The keys of all issuers at one time.
#[derive(Debug, Default)]
pub struct KeySets {
    /// Differs from that of every other collection in the process: what was found out with one does not hold for another.
    pub generation: u64,
    /// For each issuer in the order of the settings; none if its keys are not there yet.
    pub sets: Vec<Option<Arc<KeySet>>>,
}

impl KeySets {
    pub(super) fn of(&self, issuer_index: usize) -> Option<&KeySet> {
        self.sets.get(issuer_index)?.as_deref()
    }
}

/// Why a text is no key set that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadKeySet {
    /// More than 256 KiB.
    TooLong,
    /// It is not JSON.
    NotJson,
    /// It has no list `keys`.
    NoList,
    /// More than 100 keys.
    TooMany,
    /// None of its keys verifies signatures.
    NoneFits,
}

impl fmt::Display for BadKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it is longer than {} KiB", MAX_KEY_SET_BYTES / 1024),
            Self::NotJson => f.write_str("it is not JSON"),
            Self::NoList => f.write_str("it has no list `keys`"),
            Self::TooMany => write!(f, "it has more than {MAX_KEYS} keys"),
            Self::NoneFits => f.write_str(
                "none of its keys is a public key for signatures (RSA from 2048 bits, P-256, P-384, Ed25519)",
            ),
        }
    }
}

impl std::error::Error for BadKeySet {}

/// A shared secret that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeakSecret {
    /// How many bytes it has to have.
    pub least: usize,
}

impl fmt::Display for WeakSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the secret is shorter than {} bytes: make it at random",
            self.least
        )
    }
}

impl std::error::Error for WeakSecret {}
