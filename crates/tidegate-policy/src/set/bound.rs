//! The most charges that one request can meet, found at load.

use std::collections::BTreeSet;

use http::Method;
use tidegate_core::MAX_CHARGES;

use super::Rule;
use super::index::Index;
use super::trie::{Entry, Trie};

/// How many places of tries and policies on the way are looked at before the search is given up.
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
    let mut steps = 0;
    let Some(anywhere) = search_host(index, "", rules, &mut steps) else {
        return Bound::Unknown;
    };
    let mut worst = anywhere.clone();
    for host in index.hosts() {
        // Most hosts add few policies to those of every host, and need no search of their own.
        if anywhere.charges + charges(rules, &index.policies_only_of(&host)) <= MAX_CHARGES {
            continue;
        }
        match search_host(index, &host, rules, &mut steps) {
            Some(found) if found.charges > worst.charges => worst = found,
            Some(_) => {}
            None => return Bound::Unknown,
        }
    }
    if worst.charges > MAX_CHARGES {
        return Bound::TooMany(worst.policies);
    }
    Bound::Fits
}

/// The most that a request to `host` can meet. None if the search was given up.
fn search_host(index: &Index, host: &str, rules: &[Rule], steps: &mut usize) -> Option<Worst> {
    let mut tries = Vec::new();
    index.tries(host, |trie| tries.push(trie));
    // Most sets fit whatever the method. Only where they do not, methods are told apart.
    let whatever_method = Search::new(&tries, rules, None, steps).run()?;
    if whatever_method.charges <= MAX_CHARGES {
        return Some(whatever_method);
    }
    let mut worst = Worst::default();
    for method in methods(rules) {
        let found = Search::new(&tries, rules, Some(&method), steps).run()?;
        if found.charges > worst.charges {
            worst = found;
        }
    }
    Some(worst)
}

/// The most that one request was found to meet.
#[derive(Clone, Debug, Default)]
struct Worst {
    charges: usize,
    policies: Vec<usize>,
}

fn charges(rules: &[Rule], policies: &BTreeSet<usize>) -> usize {
    policies.iter().map(|policy| rules[*policy].most_charges).sum()
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
    worst: Worst,
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
            worst: Worst::default(),
        }
    }

    /// The worst of all paths. None if the search was given up.
    fn run(mut self) -> Option<Worst> {
        let roots = (0..self.tries.len()).map(|trie| (trie, Trie::ROOT)).collect();
        self.visit(roots)?;
        Some(self.worst)
    }

    /// Looks at the places that one path leads to, and at what lies below. None if the search is given up.
    fn visit(&mut self, places: Vec<(usize, usize)>) -> Option<()> {
        *self.steps += places.len() + self.met.len();
        if *self.steps > MAX_STEPS {
            return None;
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
        self.weigh();
        self.met.truncate(on_the_way);

        let any = nodes
            .iter()
            .filter_map(|(trie, node)| node.any.map(|next| (*trie, next)));
        let any: Vec<_> = any.collect();
        let literals = nodes
            .iter()
            .flat_map(|(_, node)| node.literals.iter().map(|(literal, _)| &**literal));
        let literals: BTreeSet<&[u8]> = literals.collect();
        // A segment that no pattern names leads only where every segment leads: looked at where none is named.
        if literals.is_empty() && !any.is_empty() {
            self.visit(any.clone())?;
        }
        for literal in literals {
            let exact = nodes
                .iter()
                .filter_map(|(trie, node)| node.literal(literal).map(|next| (*trie, next)));
            self.visit(exact.chain(any.iter().copied()).collect())?;
        }
        self.met.truncate(mark);
        Some(())
    }

    fn weigh(&mut self) {
        *self.steps += self.met.len();
        let met: BTreeSet<usize> = self.met.iter().map(|entry| entry.policy as usize).collect();
        let met: BTreeSet<usize> = met.into_iter().filter(|policy| self.speaks(*policy)).collect();
        let charges = charges(self.rules, &met);
        if charges > self.worst.charges {
            self.worst = Worst {
                charges,
                policies: met.into_iter().collect(),
            };
        }
    }

    fn speaks(&self, policy: usize) -> bool {
        self.method
            .is_none_or(|method| self.rules[policy].conditions.allow_method(method))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::KeyHasher;

    use crate::{PolicyFile, Problems, compile};

    /// Compiles `count` policies for each of `matching`.
    fn compiled(count: usize, matching: &[&str]) -> Result<(), Problems> {
        let mut text = "policies:\n".to_owned();
        for (kind, matching) in matching.iter().enumerate() {
            for number in 0..count {
                text += &format!(
                    "  - {{ name: p{kind}-{number}, match: {{ {matching} }}, key: [method], limit: {{ quota: 1, window: 1s }} }}\n"
                );
            }
        }
        let file = PolicyFile {
            name: "bound.yaml",
            text: &text,
        };
        compile(file, &KeyHasher::new([0; 16])).map(|compiled| assert!(compiled.warnings.is_empty()))
    }

    #[test]
    fn a_request_may_meet_sixteen_charges_and_no_more() {
        assert!(compiled(16, &["path: /a"]).is_ok());
        assert!(compiled(17, &["path: /a"]).is_err());
    }

    #[test]
    fn policies_that_no_request_meets_together_are_not_added_up() {
        for apart in [
            ["path: /a", "path: /b"],
            ["path: /a/**", "path: /b/**"],
            ["path: /a", "path: /a/b"],
            ["method: GET", "method: POST"],
            ["host: a.com", "host: b.com"],
            ["host: a.com", "host: '*.a.com'"],
        ] {
            assert!(compiled(9, &apart).is_ok(), "{apart:?}");
        }
    }

    #[test]
    fn policies_that_one_request_meets_are_added_up() {
        for together in [
            ["path: /a/**", "path: /a/b"],
            ["path: '/a/*'", "path: '/*/b'"],
            ["path: '/*/*'", "path: '/*/{id}/**'"],
            ["method: GET", "path: /a"],
            ["method: [GET, PUT]", "method: [PUT, POST]"],
            ["host: x.a.com", "host: '*.a.com'"],
            ["host: '*.a.com'", "host: '*.x.a.com'"],
            ["host: a.com", "path: /a"],
            ["headers: { x-a: a }", "headers: { x-a: b }"],
        ] {
            assert!(compiled(9, &together).is_err(), "{together:?}");
        }
    }

    #[test]
    fn a_search_that_takes_too_long_is_given_up_with_a_warning() {
        let policies: String = (0..2000)
            .map(|number| format!("  - {{ name: p{number}, match: {{ method: M{number} }}, key: [method], limit: {{ quota: 1, window: 1s }} }}\n"))
            .collect();
        let text = format!("policies:\n{policies}");
        let file = PolicyFile {
            name: "bound.yaml",
            text: &text,
        };
        let compiled = compile(file, &KeyHasher::new([0; 16])).unwrap();
        assert_eq!(compiled.warnings.len(), 1, "{}", compiled.warnings);
    }

    #[test]
    fn many_hosts_and_many_paths_are_bounded_without_trying_every_pair() {
        let hosts: String = (0..1500)
            .map(|number| format!("  - {{ name: h{number}, match: {{ host: h{number}.com }}, key: [method], limit: {{ quota: 1, window: 1s }} }}\n"))
            .collect();
        let paths: String = (0..1500)
            .map(|number| format!("  - {{ name: p{number}, match: {{ path: /a/p{number} }}, key: [method], limit: {{ quota: 1, window: 1s }} }}\n"))
            .collect();
        let text = format!("policies:\n{hosts}{paths}");
        let file = PolicyFile {
            name: "bound.yaml",
            text: &text,
        };
        let compiled = compile(file, &KeyHasher::new([0; 16])).unwrap();
        assert!(compiled.warnings.is_empty(), "{}", compiled.warnings);
    }
}
