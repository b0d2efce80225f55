//! Which policies a descriptor concerns, found without asking each.

use std::collections::BTreeMap;

use super::wildcard::Wildcard;
use crate::Entry;

/// Which calls a policy speaks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallPattern {
    pub(crate) domain: String,
    /// What the entries of a descriptor have to be, one by one. None: the policy is about the whole call.
    pub(crate) levels: Option<Vec<Level>>,
}

/// What one entry has to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    pub(crate) key: String,
    /// None: any value.
    pub(crate) value: Option<String>,
}

/// Tries of entries, by domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descriptors {
    domains: BTreeMap<Box<str>, Domain>,
}

/// The policies of one domain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    /// Those about the whole call, in the order of the file.
    pub(crate) whole: Vec<u32>,
    root: Node,
}

/// Where some entries lead to.
#[derive(Clone, Debug, Default)]
struct Node {
    /// The policies about descriptors that end here, in the order of the file.
    policies: Vec<u32>,
    keys: BTreeMap<Box<str>, Branch>,
}

/// Where an entry of one key leads to.
#[derive(Clone, Debug, Default)]
struct Branch {
    /// By value as it is written, patterns included: a value that reads like a pattern is that pattern's.
    values: BTreeMap<Box<str>, Node>,
    /// The patterns among them, in the order of the file.
    patterns: Vec<(Wildcard, Box<str>)>,
    any: Option<Box<Node>>,
}

impl Descriptors {
    /// Adds a policy: where it stands in the set, and which calls it speaks about.
    pub(crate) fn insert(&mut self, policy: u32, pattern: &CallPattern) {
        let domain = self.domains.entry(pattern.domain.as_str().into()).or_default();
        let Some(levels) = &pattern.levels else {
            domain.whole.push(policy);
            return;
        };
        let end = levels.iter().fold(&mut domain.root, |node, level| {
            let branch = node.keys.entry(level.key.as_str().into()).or_default();
            branch.at(level.value.as_deref())
        });
        end.policies.push(policy);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// All domains.
    pub(crate) fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.domains.values()
    }

    /// The policies of the domain `name`.
    pub(crate) fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.get(name)
    }
}

impl Domain {
    /// The policies that speak about a descriptor of these entries, in the order of the file.
    ///
    /// As envoyproxy/ratelimit looks them up: one entry after the other, the exact value before patterns and these before the bare key,
    /// and no way is ever taken back. What is not found at the last entry is not found.
    pub(crate) fn find(&self, entries: &[Entry<'_>]) -> &[u32] {
        let end = entries.iter().try_fold(&self.root, |node, entry| {
            node.keys.get(entry.key)?.find(entry.value)
        });
        end.map_or(&[], |node| &node.policies)
    }
}

impl Domain {
    /// The policies of each way through entries at whose end there are any.
    pub(crate) fn ends(&self) -> Vec<&[u32]> {
        let mut ends = Vec::new();
        let mut open = vec![&self.root];
        while let Some(node) = open.pop() {
            if !node.policies.is_empty() {
                ends.push(&node.policies[..]);
            }
            for branch in node.keys.values() {
                open.extend(branch.values.values());
                open.extend(branch.any.as_deref());
            }
        }
        ends
    }
}

impl Branch {
    /// Where `value`, as the file writes it, leads to; made if it is new.
    fn at(&mut self, value: Option<&str>) -> &mut Node {
        let Some(value) = value else {
            return self.any.get_or_insert_default();
        };
        if !self.values.contains_key(value)
            && let Some(pattern) = Wildcard::parse(value)
        {
            self.patterns.push((pattern, value.into()));
        }
        self.values.entry(value.into()).or_default()
    }

    /// Where the value of an entry leads to.
    fn find(&self, value: &str) -> Option<&Node> {
        let exact = self.values.get(value);
        exact.or_else(|| self.like(value)).or(self.any.as_deref())
    }

    fn like(&self, value: &str) -> Option<&Node> {
        let (_, text) = self.patterns.iter().find(|(pattern, _)| pattern.matches(value))?;
        self.values.get(text)
    }
}
