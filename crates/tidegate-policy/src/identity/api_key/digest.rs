//! The form in which API keys are known.

use std::fmt;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The fewest bytes of a key. 20 random letters and digits are 119 bits, 20 hexadecimal digits are 80.
const MIN_KEY_BYTES: usize = 20;

/// The most bytes of a key.
pub(super) const MAX_KEY_BYTES: usize = 256;

/// The fewest different characters of a key. 20 random hexadecimal digits have fewer once in a million times.
const MIN_DIFFERENT: usize = 6;

/// What the written form begins with.
const PREFIX: &str = "sha256:";

/// The SHA-256 of an API key: what a keys file holds in place of the key.
///
/// A plain hash is enough where the key is random and long, as keys made by machines are: nobody can try 2⁸⁰ of them, so salt and a
/// slow hash, which passwords need, would only cost time on each request. That is why keys that could be guessed are refused: when
/// one is made here, and again when one is presented, whatever the file says.
///
/// Two digests are compared in constant time.
#[derive(Clone, Copy)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of `key`.
    ///
    /// # Errors
    /// [`WeakKey`]: it could be guessed, or could not be sent.
    pub fn new(key: &[u8]) -> Result<Self, WeakKey> {
        if key.len() < MIN_KEY_BYTES {
            return Err(WeakKey::TooShort);
        }
        if key.len() > MAX_KEY_BYTES {
            return Err(WeakKey::TooLong);
        }
        if !key.iter().all(u8::is_ascii_graphic) {
            return Err(WeakKey::Unsendable);
        }
        if different(key) < MIN_DIFFERENT {
            return Err(WeakKey::TooUniform);
        }
        Ok(Self(Sha256::digest(key).into()))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What spreads digests evenly.
    pub(super) fn first_byte(&self) -> usize {
        self.0[0].into()
    }

    /// The digest written as `sha256:` and 64 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_byte(pair[0], pair[1])?;
        }
        Some(Self(bytes))
    }
}

/// How many different bytes `key`, which is ASCII, has.
fn different(key: &[u8]) -> usize {
    let seen = key.iter().fold(0u128, |seen, &byte| {
        seen | 1u128.checked_shl(byte.into()).unwrap_or(0)
    });
    seen.count_ones() as usize
}

/// The byte that two hexadecimal digits stand for.
fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    Some(digit(high)? << 4 | digit(low)?)
}

impl PartialEq for KeyDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyDigest {}

impl Hash for KeyDigest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// As keys files have it.
impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The first bytes only: enough to tell two apart.
impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "KeyDigest({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// Why a key is not fit to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeakKey {
    /// Fewer than 20 bytes.
    TooShort,
    /// More than 256 bytes.
    TooLong,
    /// Something other than visible ASCII.
    Unsendable,
    /// Fewer than 6 different characters.
    TooUniform,
}

impl fmt::Display for WeakKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "an API key has at least {MIN_KEY_BYTES} characters"),
            Self::TooLong => write!(f, "an API key has at most {MAX_KEY_BYTES} characters"),
            Self::Unsendable => {
                f.write_str("an API key has letters, digits and signs of ASCII only, and no blanks")
            }
            Self::TooUniform => write!(
                f,
                "an API key has at least {MIN_DIFFERENT} different characters: make it at random"
            ),
        }
    }
}

impl std::error::Error for WeakKey {}
