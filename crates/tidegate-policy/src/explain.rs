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
    /// It does, and the request lacks this part of its key, or it cannot be computed: `on_missing` says what then.
    Lacking(String),
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
