//! The known API keys.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::digest::KeyDigest;
use crate::document::node::Place;
use crate::document::report::{Report, any_of, nearest};
use crate::{Identity, PolicyFile, PolicySet, Problems, Tier};

/// The known API keys, by the SHA-256 of each. The keys themselves are nowhere.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: HashMap<KeyDigest, Entry>,
    /// The tiers, and where each comes first.
    tiers: BTreeMap<Tier, Place>,
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

    /// How many of them are revoked.
    pub fn revoked(&self) -> usize {
        self.entries.values().filter(|entry| entry.revoked).count()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tiers of the keys, each once.
    pub fn tiers(&self) -> impl ExactSizeIterator<Item = &Tier> {
        self.tiers.keys()
    }

    /// Whether `text` is a keys file and no policy file, whether or not it is right: it begins as a list does.
    pub fn is_written_in(text: &str) -> bool {
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("---").unwrap_or(line).trim_start());
        let mut content = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '%']));
        content.next().is_some_and(|line| line.starts_with(['-', '[']))
    }

    /// A warning for each tier that `policies` do not name while they name others. As in all problems of keys files, nothing
    /// that is written there is shown. `name` is what the file is called.
    pub fn unnamed_tiers(&self, name: &str, policies: &PolicySet) -> Problems {
        let mut report = Report::new(name, "");
        let named = policies.named_tiers().unwrap_or_default();
        for (tier, at) in &self.tiers {
            if named.is_empty() || named.contains(&**tier) {
                continue;
            }
            let known = named.iter().copied();
            let cure = match nearest(tier, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write {}, or add it to the `tiers` of a policy", any_of(known)),
            };
            let message = "no policy names this tier: its keys get the limits of those without one";
            report.warning(*at, message, cure);
        }
        report.finish()
    }

    /// Takes note of a tier that stands at `at`.
    pub(super) fn note_tier(&mut self, tier: &Tier, at: Place) {
        self.tiers.entry(tier.clone()).or_insert(at);
    }

    /// Adds a key, unless it is there.
    pub(super) fn add(&mut self, digest: KeyDigest, entry: Entry) -> Result<(), Repeated> {
        if self.entries.contains_key(&digest) {
            return Err(Repeated);
        }
        self.entries.insert(digest, entry);
        Ok(())
    }

    /// What is known of the key with this digest.
    pub(super) fn find(&self, digest: &KeyDigest) -> Option<&Entry> {
        self.entries.get(digest)
    }
}

/// The key is there already.
pub(super) struct Repeated;

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({} keys)", self.entries.len())
    }
}
