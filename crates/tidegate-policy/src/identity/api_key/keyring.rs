//! The known API keys.

use std::collections::HashMap;
use std::fmt;

use super::digest::KeyDigest;
use crate::{Identity, PolicyFile, Problems};

/// The known API keys, by the SHA-256 of each. The keys themselves are nowhere.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: HashMap<KeyDigest, Entry>,
}

/// What a keyring knows of one key.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) identity: Identity,
    pub(super) revoked: bool,
}

impl Keyring {
    /// The keys of a YAML file: a list of `{ hash: sha256:…, subject: …, tier: …, revoked: false }`.
    ///
    /// # Errors
    /// Everything that is wrong with the file, without showing what is written there: it may be a key.
    pub fn parse(file: PolicyFile<'_>) -> Result<Self, Problems> {
        super::keys_file::parse(file)
    }

    /// How many keys are known, revoked ones included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a key, unless it is there.
    pub(super) fn add(&mut self, digest: KeyDigest, entry: Entry) -> Result<(), Repeated> {
        if self.entries.contains_key(&digest) {
            return Err(Repeated);
        }
        self.entries.insert(digest, entry);
        Ok(())
    }

    /// What is known of `key`. A weak key is never known, whatever the file says.
    pub(super) fn find(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(&KeyDigest::new(key).ok()?)
    }
}

/// The key is there already.
pub(super) struct Repeated;

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({} keys)", self.entries.len())
    }
}
