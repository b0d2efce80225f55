//! Why a policy speaks about a request, or why it does not.

use smallvec::SmallVec;
use tidegate_core::{HoldId, Timestamp};

use crate::set::{Asked, Hit, PolicySet, views};
use crate::{Identity, Policy, Request};

/// What one policy has to do with a request.
#[derive(Clone, Debug)]
pub struct Explained<'set> {
    /// The policy.
    pub policy: &'set Policy,
    /// Whether it matches, and why not.
    pub outcome: Match,
}

/// Whether a policy matches a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// It does, and counts the request by this key.
    Yes(Vec<KeyPart>),
    /// It does, and the request lacks these parts of its key, or they cannot be computed: `on_missing` says what then.
    Lacking(Vec<String>),
    /// It does not: the first reason.
    No(String),
}

/// One part of a key and its value. Credentials are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// As the file writes it: `client.ip`.
    pub part: String,
    /// The value, for people.
    pub value: String,
}

impl PolicySet {
    /// What each policy has to do with `request`, made by `identity` at `now`, in the order of the file. Nothing is spent.
    pub fn explain(&self, request: &Request<'_>, identity: &Identity, now: Timestamp) -> Vec<Explained<'_>> {
        let views = views::views(request.path);
        let hits = views.as_ref().map(|views| self.candidates(request, views));
        let explained = |(index, policy)| {
            let outcome = match (&views, &hits) {
                (Some(views), Some(hits)) => {
                    let own = hits.iter().filter(|hit| hit.policy as usize == index);
                    let own: SmallVec<[Hit; 4]> = own.copied().collect();
                    let asked = Asked {
                        request,
                        identity,
                        hold: HoldId(0),
                        now,
                        views,
                    };
                    self.outcome(index, &own, asked)
                }
                _ => Match::No("its path can be read in too many ways".to_owned()),
            };
            Explained { policy, outcome }
        };
        self.policies().iter().enumerate().map(explained).collect()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use tidegate_core::KeyHasher;

    use super::*;
    use crate::fixture::{fields, get};
    use crate::{PolicyFile, compile};

    /// What a policy of `words` has to do with a `GET /` with `headers`.
    fn outcome(words: &str, headers: &HeaderMap) -> Match {
        let text = &format!("policies: [{{ name: a, limit: {{ quota: 1, window: 1s }}, {words} }}]");
        let name = "a.yaml";
        let compiled = compile(PolicyFile { name, text }, &KeyHasher::new([0; 16])).unwrap();
        let set = compiled.config.policies;
        let mut explained = set.explain(&get(headers), &Identity::Anonymous, Timestamp::EPOCH);
        explained.remove(0).outcome
    }

    #[test]
    fn the_first_reason_is_named_for_which_a_policy_does_not_match() {
        let none = &HeaderMap::new();
        for (words, reason) in [
            (
                "key: [client.ip], match: { path: /other }",
                "its host or path is another",
            ),
            (
                "key: [client.ip], match: { method: [POST, PUT] }",
                "GET is not POST or PUT",
            ),
            (
                "key: [client.ip], match: { headers: { x-a: [b, c] } }",
                "its header x-a is not b or c",
            ),
            (
                "key: [client.ip], match: { query: { q: v } }",
                "its query q is not v",
            ),
            (
                "key: [client.ip], when: 'request.method == \"POST\"'",
                "`when` does not hold",
            ),
            (
                "key: [client.ip], schedule: { days: [mon] }",
                "its schedule is closed at this time",
            ),
        ] {
            assert_eq!(outcome(words, none), Match::No(reason.to_owned()), "{words}");
        }
    }

    #[test]
    fn every_missing_part_of_a_key_is_named_and_secrets_are_masked() {
        let words = "key: [header.x-one, client.ip, cookie.two]";
        let lacking = Match::Lacking(vec!["header.x-one".to_owned(), "cookie.two".to_owned()]);
        assert_eq!(outcome(words, &HeaderMap::new()), lacking);
        let headers = fields(&[("x-one", "1"), ("cookie", "two=abcdefghijklmnopqrst")]);
        let Match::Yes(parts) = outcome(words, &headers) else {
            panic!("it has all parts");
        };
        assert_eq!(parts[0].value, "1");
        assert_eq!(parts[2].value, "abcd… (20 characters)");
    }
}
