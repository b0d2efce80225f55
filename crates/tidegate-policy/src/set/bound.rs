//! The most charges that one request can meet, found at load.

use std::collections::BTreeSet;

use http::Method;
use tidegate_core::MAX_CHARGES;

use super::Rule;
use super::index::Index;
use super::trie::{Entry, Trie};

/// How many places of tries are visited before the search is given up.
const MAX_STEPS: usize = 2_000_000;

/// What the search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// No request meets more than a plan can carry.
    Fits,
    /// A request can meet all of these policies, and that is too much.
    TooMany(Vec<usize>),
    /// The patterns combine in too many ways to look at all.
    Unknown,
}

/// Looks for a request that meets more than [`MAX_CHARGES`] charges. Takes for granted that conditions on headers, query
/// and cookies can all hold at once, for a client may send any number of them.
pub(crate) fn search(index: &Index, rules: &[Rule]) -> Bound {
    let total: usize = rules.iter().map(|rule| rule.most_charges).sum();
    if total <= MAX_CHARGES {
        return Bound::Fits;
    }
    let mut steps = 0;
    for host in index.hosts() {
        let mut tries = Vec::new();
        index.tries(&host, |trie| tries.push(trie));
        // Most sets fit whatever the method. Only where they do not, methods are told apart.
        match Search::new(&tries, rules, None, &mut steps).run() {
            Bound::TooMany(_) => {}
            other => {
                if other == Bound::Unknown {
                    return other;
                }
                continue;
            }
        }
        for method in methods(rules) {
            let found = Search::new(&tries, rules, Some(&method), &mut steps).run();
            if found != Bound::Fits {
                return found;
            }
        }
    }
    Bound::Fits
}

/// Every method that a policy names, and one that none does.
fn methods(rules: &[Rule]) -> Vec<Method> {
    let named = rules.iter().flat_map(|rule| &rule.conditions.methods);
    let names: BTreeSet<&str> = named.map(Method::as_str).chain(["ANOTHER"]).collect();
    names
        .into_iter()
        .filter_map(|name| Method::from_bytes(name.as_bytes()).ok())
        .collect()
}

/// A walk over all paths at once that the tries of one host tell apart.
struct Search<'a> {
    tries: &'a [&'a Trie],
    rules: &'a [Rule],
    method: Option<&'a Method>,
    steps: &'a mut usize,
    /// Policies met on the way, each as often as it was met.
    met: Vec<Entry>,
}

impl<'a> Search<'a> {
    fn new(
        tries: &'a [&'a Trie],
        rules: &'a [Rule],
        method: Option<&'a Method>,
        steps: &'a mut usize,
    ) -> Self {
        Self {
            tries,
            rules,
            method,
            steps,
            met: Vec::new(),
        }
    }

    fn run(mut self) -> Bound {
        let roots = (0..self.tries.len()).map(|trie| (trie, Trie::ROOT)).collect();
        self.visit(roots).unwrap_or(Bound::Fits)
    }

    /// Looks at the places that one path leads to, and at what lies below. Something if the search is over.
    fn visit(&mut self, places: Vec<(usize, usize)>) -> Option<Bound> {
        *self.steps += places.len();
        if *self.steps > MAX_STEPS {
            return Some(Bound::Unknown);
        }
        let tries = self.tries;
        let nodes: Vec<_> = places
            .iter()
            .map(|(trie, at)| (*trie, tries[*trie].node(*at)))
            .collect();
        let mark = self.met.len();
        nodes.iter().for_each(|(_, node)| self.met.extend(&node.below));
        let on_the_way = self.met.len();
        nodes.iter().for_each(|(_, node)| self.met.extend(&node.here));
        if let Some(too_many) = self.too_many() {
            return Some(too_many);
        }
        self.met.truncate(on_the_way);

        let any = nodes
            .iter()
            .filter_map(|(trie, node)| node.any.map(|next| (*trie, next)));
        let any: Vec<_> = any.collect();
        let literals: BTreeSet<&[u8]> = nodes
            .iter()
            .flat_map(|(_, node)| node.literals.iter().map(|(literal, _)| &**literal))
            .collect();
        // A segment that no pattern names leads only where every segment leads: looked at where none is named.
        if literals.is_empty() && !any.is_empty() {
            let found = self.visit(any);
            self.met.truncate(mark);
            return found;
        }
        for literal in literals {
            let exact = nodes
                .iter()
                .filter_map(|(trie, node)| node.literal(literal).map(|next| (*trie, next)));
            if let Some(found) = self.visit(exact.chain(any.iter().copied()).collect()) {
                return Some(found);
            }
        }
        self.met.truncate(mark);
        None
    }

    fn too_many(&self) -> Option<Bound> {
        let met: BTreeSet<usize> = self.met.iter().map(|entry| entry.policy as usize).collect();
        let met: Vec<usize> = met.into_iter().filter(|policy| self.speaks(*policy)).collect();
        let charges: usize = met.iter().map(|policy| self.rules[*policy].most_charges).sum();
        (charges > MAX_CHARGES).then_some(Bound::TooMany(met))
    }

    fn speaks(&self, policy: usize) -> bool {
        self.method
            .is_none_or(|method| self.rules[policy].conditions.allow_method(method))
    }
}
