//! `tidegate keys add`.

use tidegate_policy::KeyDigest;
use tidegate_server::key_store::{Before, KeyEntry, Shelf, hex};

use super::shelf::{Shelves, now, span};
use crate::arguments::AddKeyArguments;
use crate::hash_key;
use crate::output;

/// A key that is to be put into the store.
pub(super) struct New {
    /// None if whoever typed it has it.
    key: Option<String>,
    digest: KeyDigest,
    tier: Option<String>,
    entry: Vec<u8>,
}

impl New {
    pub(super) fn of(arguments: &AddKeyArguments) -> Result<Self, String> {
        let entry = KeyEntry {
            subject: arguments.subject.clone(),
            tier: arguments.tier.clone(),
            created: now(),
            note: arguments.note.clone(),
            revoked: None,
        };
        let entry = entry.write().map_err(|bad| bad.to_string())?;
        let (key, digest) = if arguments.key_from_stdin {
            (None, digest(&hash_key::typed()?)?)
        } else {
            let key = hash_key::generated()?;
            let digest = digest(&key)?;
            (Some(key), digest)
        };
        Ok(Self {
            key,
            digest,
            tier: arguments.tier.clone(),
            entry,
        })
    }

    /// Puts it there. A key is shown only once it is.
    pub(super) async fn put(&self, shelves: &Shelves) -> Result<String, String> {
        let digits = hex(self.digest.as_bytes());
        let added = shelves
            .change(Shelf::Keys, &digits, Before::Nothing, Some(&self.entry))
            .await?;
        if !added {
            return Err(format!(
                "this key is there already, as {digits:.12}: `tidegate keys list` says whose it is"
            ));
        }
        shelves.say_if_unused();
        shelves.say_if_unnamed(self.tier.as_deref());
        if let Some(beliefs) = shelves.beliefs() {
            output::note(format_args!(
                "It is known at once; where it was tried before, within {}.",
                span(beliefs.cache)
            ));
        }
        Ok(match &self.key {
            Some(key) => {
                output::note("The new API key, shown only now: the store has its hash alone.");
                format!("{key}\n")
            }
            None => format!("{digits:.12}\n"),
        })
    }
}

fn digest(key: &str) -> Result<KeyDigest, String> {
    KeyDigest::new(key.as_bytes()).map_err(|weak| weak.to_string())
}
