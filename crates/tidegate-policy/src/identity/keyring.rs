//! The API keys file.

use std::fmt;

use crate::{PolicyFile, Problems};

/// The known API keys, by the SHA-256 of each: the keys themselves are not here.
#[derive(Clone, Debug, Default)]
pub struct Keyring {}

impl Keyring {
    /// The keys of a YAML file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, in its order.
    pub fn parse(file: PolicyFile<'_>) -> Result<Self, Problems> {
        let _ = file;
        Ok(Self {})
    }
}

/// The SHA-256 of an API key.
#[derive(Clone, Copy)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of a new key, to be written into the keys file.
    ///
    /// # Errors
    /// [`WeakKey`]: the key could be guessed.
    pub fn of_new(key: &str) -> Result<Self, WeakKey> {
        let _ = key;
        Ok(Self([0; 32]))
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = self.0;
        f.write_str("sha256:")
    }
}

/// Why a key is not fit to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeakKey {
    /// Shorter than 20 characters.
    TooShort,
}
