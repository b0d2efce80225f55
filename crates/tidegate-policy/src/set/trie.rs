//! Path patterns as a tree of segments: a path meets only the patterns that match it.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::path::{PathPattern, Segment};

/// Which pattern of which policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The place of the policy in the set.
    pub(crate) policy: u32,
    /// The place of the pattern in the policy.
    pub(crate) pattern: u32,
}

/// A tree of segments.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

/// A place in the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Where exact segments lead, in small letters, sorted.
    pub(crate) literals: Vec<(Box<[u8]>, usize)>,
    /// Where any segment leads.
    pub(crate) any: Option<usize>,
    /// Patterns that end here.
    pub(crate) here: Vec<Entry>,
    /// Patterns that match here and everything below.
    pub(crate) below: Vec<Entry>,
}

impl Default for Trie {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }
}

impl Trie {
    /// Where every walk begins.
    pub(crate) const ROOT: usize = 0;

    /// The place numbered `index`.
    pub(crate) fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }

    /// Every pattern in the tree.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.nodes
            .iter()
            .flat_map(|node| node.here.iter().chain(&node.below))
            .copied()
    }

    /// Adds `pattern`, which `entry` names.
    pub(crate) fn insert(&mut self, pattern: &PathPattern, entry: Entry) {
        let end = pattern
            .segments
            .iter()
            .fold(Self::ROOT, |at, segment| self.step(at, segment));
        let end = &mut self.nodes[end];
        let entries = if pattern.open_ended {
            &mut end.below
        } else {
            &mut end.here
        };
        entries.push(entry);
    }

    /// Calls `found` for each pattern that matches `segments`. Visits each place at most once.
    pub(crate) fn walk(&self, segments: &[Cow<'_, [u8]>], mut found: impl FnMut(Entry)) {
        let mut ahead: SmallVec<[(usize, usize); 16]> = SmallVec::new();
        ahead.push((Self::ROOT, 0));
        while let Some((at, depth)) = ahead.pop() {
            let node = &self.nodes[at];
            node.below.iter().copied().for_each(&mut found);
            let Some(segment) = segments.get(depth) else {
                node.here.iter().copied().for_each(&mut found);
                continue;
            };
            if let Some(next) = node.literal(segment) {
                ahead.push((next, depth + 1));
            }
            if let Some(next) = node.any
                && !segment.is_empty()
            {
                ahead.push((next, depth + 1));
            }
        }
    }

    fn step(&mut self, at: usize, segment: &Segment) -> usize {
        let fresh = self.nodes.len();
        let node = &mut self.nodes[at];
        let next = match segment {
            Segment::Any(_) => *node.any.get_or_insert(fresh),
            Segment::Literal(text) => match node.search(text.as_bytes()) {
                Ok(found) => node.literals[found].1,
                Err(place) => {
                    node.literals.insert(place, (text.as_bytes().into(), fresh));
                    fresh
                }
            },
        };
        if next == fresh {
            self.nodes.push(Node::default());
        }
        next
    }
}

impl Node {
    /// Where the segment `segment` leads, whatever its case: to many origins `/Login` is `/login`.
    pub(crate) fn literal(&self, segment: &[u8]) -> Option<usize> {
        if self.literals.is_empty() {
            return None;
        }
        let found = if segment.iter().any(u8::is_ascii_uppercase) {
            let mut small: SmallVec<[u8; 64]> = segment.into();
            small.make_ascii_lowercase();
            self.search(&small)
        } else {
            self.search(segment)
        };
        found.ok().map(|found| self.literals[found].1)
    }

    fn search(&self, segment: &[u8]) -> Result<usize, usize> {
        self.literals
            .binary_search_by(|(literal, _)| (**literal).cmp(segment))
    }
}
