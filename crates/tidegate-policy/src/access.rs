//! Who is let in and who is not, whatever the policies say.

mod entries;
mod list_file;
mod ranges;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use tidegate_core::Timestamp;

use crate::{Identity, PolicyFile, Problems};

pub(crate) use entries::{Entries, FOREVER};
pub use list_file::MAX_LISTED;
pub(crate) use list_file::network;

/// `access`: two lists, of which `deny` comes first.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub(crate) allow: AccessList,
    pub(crate) deny: AccessList,
}

/// What the lists say about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is refused.
    Denied,
    /// It passes; no policy counts it.
    Allowed,
    /// Nothing: the policies decide.
    Unlisted,
}

/// Entries of the policy file, and of the files that it names.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessList {
    pub(crate) own: Entries,
    /// By the name that the policy file calls them. Empty until they are read.
    pub(crate) files: Vec<(String, Entries)>,
}

impl Access {
    /// Whether the address alone is denied: known before anything else of a request is looked at.
    pub fn denies_address(&self, client: IpAddr, now: Timestamp) -> bool {
        self.deny.holds_address(client, now)
    }

    /// What the lists say about a request of `identity` from `client`.
    pub fn standing(&self, client: IpAddr, identity: &Identity, now: Timestamp) -> Standing {
        if self.deny.holds(client, identity, now) {
            Standing::Denied
        } else if self.allow.holds(client, identity, now) {
            Standing::Allowed
        } else {
            Standing::Unlisted
        }
    }

    /// The files that the lists name, relative to the policy file's folder, each once.
    pub fn files(&self) -> Vec<&str> {
        let files = self.allow.files.iter().chain(&self.deny.files);
        let mut names: Vec<&str> = files.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What each list holds, in words: `denies 2 ranges of addresses, 1 subject`. Nothing of an empty list.
    pub fn in_words(&self) -> Vec<String> {
        let lists = [("denies", &self.deny), ("allows, uncounted,", &self.allow)];
        let words = lists.into_iter().map(|(does, list)| (does, list.in_words()));
        let held = words.filter(|(_, held)| !held.is_empty());
        held.map(|(does, held)| format!("{does} {}", held.join(", ")))
            .collect()
    }

    /// Takes the entries of the file that the lists call `name`.
    ///
    /// # Errors
    /// Everything that is wrong with the file; the lists are as they were.
    pub fn read_file(&mut self, name: &str, file: PolicyFile<'_>) -> Result<(), Problems> {
        let entries = list_file::parse(file)?;
        let files = self.allow.files.iter_mut().chain(&mut self.deny.files);
        for (_, old) in files.filter(|(own, _)| own == name) {
            *old = entries.clone();
        }
        Ok(())
    }
}

impl AccessList {
    fn in_words(&self) -> Vec<String> {
        let mut words = self.own.in_words();
        for (name, entries) in &self.files {
            words.push(format!("{} of {name}", entries.in_words().join(", ")));
        }
        words
    }

    /// Whether one of the entries is about the client's address or its subject.
    pub(crate) fn holds(&self, client: IpAddr, identity: &Identity, now: Timestamp) -> bool {
        self.holds_address(client, now) || self.own.hold_subject(identity, now)
    }

    fn holds_address(&self, client: IpAddr, now: Timestamp) -> bool {
        self.own.hold_address(client, now)
            || self.files.iter().any(|(_, file)| file.hold_address(client, now))
    }
}
