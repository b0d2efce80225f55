//! Which policies a host and a path may concern, found without asking each.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::host::{HostPattern, MAX_HOST_BYTES};
use super::path::PathPattern;
use super::trie::{Entry, Trie};

/// Tries of path patterns, by host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By exact host, sorted.
    exact: Vec<(String, Trie)>,
    /// By the name above the host, sorted.
    below: Vec<(String, Trie)>,
    any: Trie,
}

/// A path pattern that matches every path.
const EVERY_PATH: PathPattern = PathPattern {
    segments: Vec::new(),
    open_ended: true,
};

impl Index {
    /// Adds a policy: where it stands in the set, and its patterns. No patterns match everything.
    pub(crate) fn insert(&mut self, policy: u32, hosts: &[HostPattern], paths: &[PathPattern]) {
        if hosts.is_empty() {
            insert_paths(&mut self.any, policy, paths);
        }
        for host in hosts {
            let trie = match host {
                HostPattern::Exact(name) => entry(&mut self.exact, name),
                HostPattern::Below(name) => entry(&mut self.below, name),
            };
            insert_paths(trie, policy, paths);
        }
    }

    /// Calls `found` for each pattern that matches `segments` under `host`, which is in its normal spelling.
    pub(crate) fn walk(&self, host: &str, segments: &[Cow<'_, [u8]>], mut found: impl FnMut(Entry)) {
        self.tries(host, |trie| trie.walk(segments, &mut found));
    }

    /// Calls `found` with the tries that concern `host`.
    pub(crate) fn tries<'i>(&'i self, host: &str, mut found: impl FnMut(&'i Trie)) {
        found(&self.any);
        if let Some(trie) = search(&self.exact, host) {
            found(trie);
        }
        if self.below.is_empty() {
            return;
        }
        // No pattern is longer than a host may be, so only the end of an overlong host needs a look.
        let long_enough = |dot: usize| dot > 0 && host.len() - dot <= MAX_HOST_BYTES + 1;
        for (dot, _) in host.match_indices('.') {
            if long_enough(dot)
                && let Some(trie) = search(&self.below, &host[dot + 1..])
            {
                found(trie);
            }
        }
    }

    /// Whether any pattern names a host: only then hosts need be compared.
    pub(crate) fn names_hosts(&self) -> bool {
        !self.exact.is_empty() || !self.below.is_empty()
    }

    /// One host of each kind that the set names.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = String> {
        let exact = self.exact.iter().map(|(name, _)| name.clone());
        let below = self.below.iter().map(|(name, _)| format!("any.{name}"));
        exact.chain(below)
    }

    /// The policies that concern `host` and not every host.
    pub(crate) fn policies_only_of(&self, host: &str) -> BTreeSet<usize> {
        let mut policies = BTreeSet::new();
        self.tries(host, |trie| {
            if !std::ptr::eq(trie, &self.any) {
                policies.extend(trie.entries().map(|entry| entry.policy as usize));
            }
        });
        policies
    }
}

fn insert_paths(trie: &mut Trie, policy: u32, paths: &[PathPattern]) {
    if paths.is_empty() {
        trie.insert(&EVERY_PATH, Entry { policy, pattern: 0 });
    }
    for (path, pattern) in paths.iter().zip(0..) {
        trie.insert(path, Entry { policy, pattern });
    }
}

fn entry<'t>(tries: &'t mut Vec<(String, Trie)>, name: &str) -> &'t mut Trie {
    let place = match tries.binary_search_by(|(own, _)| own.as_str().cmp(name)) {
        Ok(place) => place,
        Err(place) => {
            tries.insert(place, (name.to_owned(), Trie::default()));
            place
        }
    };
    &mut tries[place].1
}

fn search<'t>(tries: &'t [(String, Trie)], name: &str) -> Option<&'t Trie> {
    let place = tries.binary_search_by(|(own, _)| own.as_str().cmp(name)).ok()?;
    Some(&tries[place].1)
}
