//! The policies, indexed: a request meets only those that may match it.

mod beginnings;
pub(crate) mod body;
pub(crate) mod bound;
pub(crate) mod call_bound;
mod calls;
pub(crate) mod conditions;
pub(crate) mod descriptors;
mod explain;
pub(crate) mod host;
pub(crate) mod index;
pub(crate) mod key;
mod named;
pub(crate) mod parts;
pub(crate) mod path;
pub(crate) mod routes;
mod rule;
mod tiers;
pub(crate) mod trie;
pub(crate) mod views;
pub(crate) mod wildcard;

use std::borrow::Cow;
use std::collections::HashMap;

use smallvec::SmallVec;
use tidegate_core::{Charge, HoldId, KeyHasher, MAX_CHARGES, Mode, Timestamp};

use crate::access::AccessList;
use crate::document::policy::OnError;
use crate::expression::{Expression, RequestScope, Scope};
use crate::plan::{Refusal, Source};
use crate::schedule::Schedule;
use crate::{Consistency, Identity, Plan, Policy, Prefixes, Request};
use beginnings::Beginnings;
use body::{BodyRule, OnTooLarge};
use bound::Bound;
use call_bound::Crowd;
use calls::Calls;
use conditions::Conditions;
use descriptors::CallPattern;
use host::HostPattern;
use index::Index;
use key::{Found, Recipe};
use path::PathPattern;
use views::Segments;

pub use named::NamedCounters;

/// The policies of one file, compiled. Cheap to ask from many threads; made once per load.
///
/// Hosts and paths are found in an index, so the price of a request depends on how many policies concern its host and path,
/// not on how many there are. And few do: no request may meet more than [`MAX_CHARGES`] limits, which the compiler sees to.
#[derive(Clone, Debug)]
pub struct PolicySet {
    policies: Vec<Policy>,
    rules: Vec<Rule>,
    /// Those about requests.
    index: Index,
    /// Those about calls of the rate limit service.
    calls: Calls,
    prefixes: Prefixes,
    looks_at_bodies: bool,
    named: NamedCounters,
}

/// How a policy finds requests and names counters.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) conditions: Conditions,
    pub(crate) recipe: Recipe,
    /// Whom it does not count.
    exempt: Option<AccessList>,
    expressions: Expressions,
    /// When it speaks; always, if there is none.
    schedule: Option<Schedule>,
    /// How it looks at bodies, if it does.
    pub(crate) body: Option<BodyRule>,
    beginnings: Beginnings,
    /// The most charges one request can meet here.
    most_charges: usize,
    /// Whether it is about calls of the rate limit service, not about requests.
    is_about_calls: bool,
    /// The policies that do not count where this one speaks about the same call.
    replaces: Vec<u32>,
}

/// What a policy is made of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) policy: Policy,
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) conditions: Conditions,
    pub(crate) recipe: Recipe,
    pub(crate) exempt: Option<AccessList>,
    pub(crate) expressions: Expressions,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) body: Option<BodyRule>,
    /// Which calls it speaks about; none if it is about requests.
    pub(crate) call: Option<CallPattern>,
    /// The names of policies that do not count where this one speaks about the same call.
    pub(crate) replaces: Vec<String>,
}

/// What a policy computes for each request, its key aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expressions {
    /// Which requests it counts of those that match; all, if there is none.
    pub(crate) when: Option<Expression>,
    /// What a request costs; the policy's own cost, if there is none.
    pub(crate) cost: Option<Expression>,
    /// What happens if one of them cannot be computed.
    pub(crate) on_error: OnError,
}

/// A pattern of a policy that matched, and under which reading of the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) policy: u32,
    view: usize,
    pattern: u32,
}

impl PolicySet {
    /// `usual` is where a policy counts that does not say.
    pub(crate) fn new(parts: Vec<Parts>, usual: Consistency, hasher: &KeyHasher, prefixes: Prefixes) -> Self {
        let places = parts.iter().map(|parts| &*parts.policy.name).zip(0..);
        let places: HashMap<&str, u32> = places.collect();
        let replaced = |parts: &Parts| {
            let places = parts.replaces.iter().map(|name| places.get(name.as_str()));
            places.flatten().copied().collect()
        };
        let replaces: Vec<Vec<u32>> = parts.iter().map(replaced).collect();
        let shared = KeyHasher::shared(None);
        let mut set = Self {
            policies: Vec::with_capacity(parts.len()),
            rules: Vec::with_capacity(parts.len()),
            index: Index::default(),
            calls: Calls::new(usual, hasher, &shared),
            prefixes,
            looks_at_bodies: parts.iter().any(|parts| parts.body.is_some()),
            named: NamedCounters::new(hasher),
        };
        for ((parts, replaces), place) in parts.into_iter().zip(replaces).zip(0..) {
            match &parts.call {
                None => set.index.insert(place, &parts.hosts, &parts.paths),
                Some(pattern) => set.calls.insert(place, pattern),
            }
            let hasher = match parts.policy.consistency {
                Consistency::Local => hasher,
                Consistency::Strict => &shared,
            };
            set.rules.push(Rule::new(&parts, replaces, hasher));
            set.policies.push(parts.policy);
        }
        set
    }

    /// Names the counters that instances share under `secret`, which then all of them need. Without, they are named by what they count
    /// alone.
    pub fn name_shared_under(&mut self, secret: &[u8]) {
        let hasher = KeyHasher::shared(Some(secret));
        self.named.share(&hasher);
        for (policy, rule) in self.policies.iter().zip(&mut self.rules) {
            if policy.consistency == Consistency::Strict {
                rule.beginnings = Beginnings::of(policy, &rule.recipe, &hasher);
            }
        }
        self.calls.name_shared_by(&hasher);
    }

    /// Whether a policy counts in the store that instances share.
    pub fn asks_shared_store(&self) -> bool {
        let is_strict = |policy: &Policy| policy.consistency == Consistency::Strict;
        self.policies.iter().any(is_strict) || self.calls.ask_shared_store()
    }

    /// The names of counters that callers bring, with their limits.
    pub fn named_counters(&self) -> &NamedCounters {
        &self.named
    }

    /// Whether a policy looks at bodies of requests. Doors that cannot read them have no use for such a policy.
    pub fn looks_at_bodies(&self) -> bool {
        self.looks_at_bodies
    }

    /// The policies, in the order of the file.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Whether a request can meet more limits than a plan carries.
    pub(crate) fn bound(&self) -> Bound {
        bound::search(&self.index, &self.rules)
    }

    /// Policies about calls of the rate limit service with more limits than a plan carries.
    pub(crate) fn crowds(&self) -> Vec<Crowd> {
        self.calls.crowds(&self.rules)
    }

    /// What `request`, made by `identity` at `now`, asks of the store.
    ///
    /// `hold` names the slots it takes under concurrency limits; it must be unique among the requests alive at one time.
    ///
    /// Every policy that matches adds its charges, in the order of the file. Where origins may read a path in several ways
    /// (`%6c`, `//`, `..`), a policy that matches one of them matches: no spelling of a path dodges its policy. Allocates
    /// nothing for a path that can be read in one way and has at most 16 segments.
    pub fn plan(&self, request: &Request<'_>, identity: &Identity, hold: HoldId, now: Timestamp) -> Plan<'_> {
        let Some(views) = views::views(request.path) else {
            return self.unreadable();
        };
        let mut plan = Plan::default();
        let asked = Asked {
            request,
            identity,
            hold,
            now,
            views: &views,
        };
        let hits = self.hits(request, &views, now);
        for hits_of_one in hits.chunk_by(|one, next| one.policy == next.policy) {
            self.add(hits_of_one, asked, &mut plan);
        }
        if plan.charges.len() > MAX_CHARGES {
            let mode = harshest(plan.sources.iter().map(|source| source.policy));
            plan.refuse(Refusal::AmbiguousPath, mode);
            plan.clear();
        }
        if plan.refusal.is_some() {
            plan.clear();
        }
        plan
    }

    /// The plan of a request whose path can be read in too many ways. Where there are no policies, nobody asks how.
    fn unreadable(&self) -> Plan<'_> {
        let mut plan = Plan::default();
        let rules = self.policies.iter().zip(&self.rules);
        let mut policies = rules.filter(|(_, rule)| !rule.is_about_calls).peekable();
        if policies.peek().is_some() {
            plan.refuse(
                Refusal::AmbiguousPath,
                harshest(policies.map(|(policy, _)| policy)),
            );
        }
        plan
    }

    /// The policies that match, in the order of the file: each once, but those with `when` as often as they match.
    fn hits(&self, request: &Request<'_>, views: &[Segments<'_>], now: Timestamp) -> SmallVec<[Hit; 16]> {
        let mut hits = self.candidates(request, views);
        let has_when = |hit: &Hit| self.rules[hit.policy as usize].expressions.when.is_some();
        hits.dedup_by(|next, one| next.policy == one.policy && !has_when(one));
        hits.retain(|hit| {
            let rule = &self.rules[hit.policy as usize];
            rule.speaks_at(now) && rule.conditions.hold(request)
        });
        hits
    }

    /// The policies whose host and path match, in the order of the file, as often as they match.
    pub(crate) fn candidates(&self, request: &Request<'_>, views: &[Segments<'_>]) -> SmallVec<[Hit; 16]> {
        let host = if self.index.names_hosts() {
            host::normal(request.host)
        } else {
            Cow::Borrowed("")
        };
        let mut hits: SmallVec<[Hit; 16]> = SmallVec::new();
        for (view, segments) in views.iter().enumerate() {
            self.index.walk(&host, segments, |entry| {
                hits.push(Hit {
                    policy: entry.policy,
                    view,
                    pattern: entry.pattern,
                });
            });
        }
        hits.sort_unstable();
        hits
    }

    /// Adds what the policy of `hits` asks.
    fn add<'set>(&'set self, hits: &[Hit], asked: Asked<'_, '_>, plan: &mut Plan<'set>) {
        let policy_index = hits[0].policy as usize;
        let (policy, rule) = (&self.policies[policy_index], &self.rules[policy_index]);
        if rule.exempts(asked) {
            return;
        }
        let unread;
        let asked = match &rule.body {
            Some(body) if body.is_too_large_in(asked.request) => {
                if body.on_too_large == OnTooLarge::Deny {
                    let max_bytes = body.max_bytes;
                    return plan.refuse(Refusal::BodyTooLarge { policy, max_bytes }, policy.mode);
                }
                unread = asked.request.without_body();
                Asked {
                    request: &unread,
                    ..asked
                }
            }
            _ => asked,
        };
        if rule.body.is_some() && !rule.conditions.allow_body(asked.request) {
            return;
        }
        let Some(found) = rule.chosen((policy, policy_index), hits, asked, plan) else {
            return;
        };
        let scope = asked.scope(found);
        let named = rule.values((policy, policy_index), &scope, found, self.prefixes, plan);
        let Some(values) = named else {
            return;
        };
        let Some(cost) = rule.cost((policy, policy_index), &scope, plan) else {
            return;
        };
        let (terms, limits, beginnings) = rule.limits_for(policy, asked.identity, asked.now);
        for (limit_index, (limit, beginning)) in limits.iter().zip(beginnings).enumerate() {
            plan.charges.push(Charge {
                key: key::finish(beginning, &values),
                limit: &limit.limit,
                cost,
                mode: policy.mode,
                hold: asked.hold,
            });
            plan.sources.push(Source {
                policy,
                policy_index,
                limit,
                limit_index,
                terms,
            });
        }
    }
}

/// Enforce, if one of `policies` does: those in shadow mode refuse nobody, not even together.
fn harshest<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Mode {
    let enforces = policies.into_iter().any(|policy| policy.mode == Mode::Enforce);
    if enforces { Mode::Enforce } else { Mode::Shadow }
}

/// Who asks what, and where it matched.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r, 'p> {
    pub(crate) request: &'r Request<'r>,
    pub(crate) identity: &'r Identity,
    pub(crate) hold: HoldId,
    pub(crate) now: Timestamp,
    /// The readings of its path.
    pub(crate) views: &'r [Segments<'p>],
}

impl<'r> Asked<'r, '_> {
    /// Where it matched.
    fn found(&self, hit: &Hit) -> Found<'r> {
        Found {
            pattern: hit.pattern as usize,
            segments: &self.views[hit.view],
        }
    }

    /// What expressions see of it where it matched.
    fn scope(&self, found: Found<'r>) -> Scope<'r> {
        Scope::Request(RequestScope {
            request: self.request,
            identity: self.identity,
            segments: found.segments,
        })
    }
}
