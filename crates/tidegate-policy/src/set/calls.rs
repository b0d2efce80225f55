//! What a call of the rate limit service asks of the store.

use smallvec::SmallVec;
use tidegate_core::{Charge, Cost, HoldId, Key, KeyBuilder, KeyHasher, MAX_CHARGES, Mode, Timestamp};

use super::call_bound::{self, Crowd};
use super::descriptors::{CallPattern, Descriptors, Domain};
use super::key::{self, Found, Value, Values};
use super::{PolicySet, Rule, harshest};
use crate::expression::{CallScope, Fuel, Scope};
use crate::plan::{ExpressionFailure, ExpressionField, Refusal, Source, Terms};
use crate::{Consistency, DescriptorCall, DescriptorPlan, Entry, OnStoreFailure, Policy, PolicyLimit, Share};

/// The most charges that are gathered before it is known which policies replace others.
const MOST_GATHERED: usize = 4 * MAX_CHARGES;

/// What limits that calls bring along are named by where no policy speaks. No policy can have that name.
const BROUGHT: &str = "limit of the call";

/// The policies about calls.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    descriptors: Descriptors,
    /// Stands where a policy would, for limits that calls bring along and no policy speaks about.
    stand_in: Policy,
    /// What the keys of limits that calls bring along begin with: of those that count in this process, and of those that instances share.
    brought_own: KeyBuilder,
    brought_shared: KeyBuilder,
}

impl Calls {
    /// None yet. `usual` is where a policy counts that does not say.
    pub(super) fn new(usual: Consistency, own: &KeyHasher, shared: &KeyHasher) -> Self {
        Self {
            descriptors: Descriptors::default(),
            stand_in: stand_in(usual),
            brought_own: brought(own),
            brought_shared: brought(shared),
        }
    }

    pub(super) fn insert(&mut self, policy: u32, pattern: &CallPattern) {
        self.descriptors.insert(policy, pattern);
    }

    pub(super) fn name_shared_by(&mut self, hasher: &KeyHasher) {
        self.brought_shared = brought(hasher);
    }

    /// Policies with more limits than one call may meet.
    pub(super) fn crowds(&self, rules: &[Rule]) -> Vec<Crowd> {
        call_bound::search(&self.descriptors, rules)
    }

    /// Whether limits that calls bring along count in the store that instances share.
    pub(super) fn ask_shared_store(&self) -> bool {
        self.stand_in.consistency == Consistency::Strict && !self.descriptors.is_empty()
    }

    /// The counter of `limit`, which a call to `domain` brought for `entries`. Its numbers are part of its name: whoever brings another
    /// limit begins anew.
    fn key(&self, consistency: Consistency, limit: &PolicyLimit, domain: &str, entries: &[Entry<'_>]) -> Key {
        let mut key = match consistency {
            Consistency::Local => self.brought_own.clone(),
            Consistency::Strict => self.brought_shared.clone(),
        };
        let limit = &limit.limit;
        key.part(domain.as_bytes());
        key.part(limit.algorithm().name().as_bytes());
        for number in [limit.quota(), limit.capacity()] {
            key.part(&number.to_le_bytes());
        }
        for span in [limit.window(), limit.max_delay(), limit.ttl()] {
            key.part(&span.unwrap_or_default().as_nanos().to_le_bytes());
        }
        let (unit, zone) = limit
            .calendar()
            .map_or(("", ""), |(unit, zone)| (unit.name(), zone));
        key.part(unit.as_bytes());
        key.part(zone.as_bytes());
        let values = Values::from_iter([Value::entries(entries)]);
        key::finish(&key, &values)
    }
}

fn brought(hasher: &KeyHasher) -> KeyBuilder {
    let mut key = hasher.start();
    key.part(BROUGHT.as_bytes());
    key
}

fn stand_in(consistency: Consistency) -> Policy {
    Policy {
        name: BROUGHT.into(),
        scope: "limits that calls of the rate limit service bring along".into(),
        mode: Mode::Enforce,
        cost: Cost::ONE,
        expressions: Vec::new(),
        consistency,
        on_store_failure: OnStoreFailure::default(),
        local_share: Share::default(),
        limits: Vec::new(),
        tiers: Vec::new(),
        overrides: Vec::new(),
        reject: None,
    }
}

impl PolicySet {
    /// Whether a policy speaks about calls of the rate limit service to `domain`.
    pub fn knows_domain(&self, domain: &str) -> bool {
        self.calls.descriptors.domain(domain).is_some()
    }

    /// What `call`, made at `now`, asks of the store.
    ///
    /// First come the charges of each descriptor, in the order of the call, then those of policies about the whole call, each in the order
    /// of the file. A call to a domain that no policy names asks nothing. `hold` is as in [`PolicySet::plan`]. Allocates nothing for up to
    /// four charges and descriptors of up to four entries, expressions aside.
    pub fn plan_descriptors<'c, 't: 'c>(
        &'c self,
        call: &DescriptorCall<'c, 't>,
        hold: HoldId,
        now: Timestamp,
    ) -> DescriptorPlan<'c> {
        let Some(domain) = self.calls.descriptors.domain(call.domain) else {
            return DescriptorPlan::default();
        };
        let entries = call.descriptors.iter().map(|descriptor| &descriptor.entries[..]);
        let entries: SmallVec<[&[Entry<'_>]; 8]> = entries.collect();
        let mut planner = Planner {
            set: self,
            call,
            descriptors: &entries,
            hold,
            now,
            planned: DescriptorPlan::default(),
            replaced: SmallVec::new(),
        };
        planner.plan(domain);
        planner.finish()
    }
}

/// A plan in the making.
struct Planner<'p, 'c, 't> {
    set: &'c PolicySet,
    call: &'p DescriptorCall<'c, 't>,
    /// The entries of each descriptor.
    descriptors: &'p [&'p [Entry<'p>]],
    hold: HoldId,
    now: Timestamp,
    planned: DescriptorPlan<'c>,
    /// Policies that another one replaces.
    replaced: SmallVec<[u32; 4]>,
}

/// What a policy is asked about: the whole call, or one descriptor of it.
#[derive(Clone, Copy)]
struct Subject<'p> {
    scope: CallScope<'p>,
    place: Option<u32>,
    hits: Option<u64>,
}

impl Subject<'_> {
    /// The cost of all its hits, each of which costs `each`.
    fn times(&self, each: Cost) -> Cost {
        Cost::new(each.units().saturating_mul(self.hits.unwrap_or(1)))
    }
}

impl<'p, 'c, 't: 'c> Planner<'p, 'c, 't> {
    fn plan(&mut self, domain: &'c Domain) {
        let whole = Subject {
            scope: CallScope {
                domain: self.call.domain,
                descriptors: self.descriptors,
                descriptor: None,
            },
            place: None,
            hits: self.call.hits,
        };
        for ((descriptor, entries), place) in self.call.descriptors.iter().zip(self.descriptors).zip(0..) {
            let subject = Subject {
                scope: CallScope {
                    descriptor: Some(entries),
                    ..whole.scope
                },
                place: Some(place),
                hits: descriptor.hits.or(self.call.hits),
            };
            let policies = domain.find(entries);
            match descriptor.limit {
                None => policies.iter().for_each(|policy| self.add(*policy, subject)),
                Some(limit) => self.add_brought(limit, policies, entries, subject),
            }
            if self.planned.places.len() > MOST_GATHERED {
                return;
            }
        }
        for policy in &domain.whole {
            self.add(*policy, whole);
            if self.planned.places.len() > MOST_GATHERED {
                return;
            }
        }
    }

    /// The plan without what is replaced. Without anything, if it is refused.
    fn finish(mut self) -> DescriptorPlan<'c> {
        self.drop_replaced();
        let planned = &mut self.planned;
        if planned.plan.charges.len() > MAX_CHARGES {
            let mode = harshest(planned.plan.sources.iter().map(|source| source.policy));
            planned.plan.refuse(Refusal::TooManyLimits, mode);
            planned.clear();
        }
        if planned.plan.refusal.is_some() {
            planned.clear();
        }
        self.planned
    }

    /// Takes the charges back of policies that are replaced. Limits that the call brought are nobody's to replace.
    fn drop_replaced(&mut self) {
        if self.replaced.is_empty() {
            return;
        }
        let is_brought = |place: u32| {
            let descriptor = self.call.descriptors.get(place as usize);
            descriptor.is_some_and(|descriptor| descriptor.limit.is_some())
        };
        let DescriptorPlan { plan, places, .. } = &mut self.planned;
        let stays = plan.sources.iter().zip(&*places).map(|(source, place)| {
            place.is_some_and(is_brought)
                || !self
                    .replaced
                    .iter()
                    .any(|replaced| *replaced as usize == source.policy_index)
        });
        let stays: SmallVec<[bool; 8]> = stays.collect();
        retain(&mut plan.charges, &stays);
        retain(&mut plan.sources, &stays);
        retain(places, &stays);
    }

    /// Adds what policy number `policy` asks for `subject`.
    fn add(&mut self, policy: u32, subject: Subject<'_>) {
        let policy_index = policy as usize;
        let (policy, rule) = (&self.set.policies[policy_index], &self.set.rules[policy_index]);
        let scope = Scope::Call(subject.scope);
        if !self.speaks(policy_index, &scope) {
            return;
        }
        if policy.is_unlimited() {
            self.replaced.extend_from_slice(&rule.replaces);
            return self.note_unlimited(subject.place);
        }
        let plan = &mut self.planned.plan;
        let nowhere = Found {
            pattern: 0,
            segments: &[],
        };
        let named = rule.values((policy, policy_index), &scope, nowhere, self.set.prefixes, plan);
        let Some(values) = named else {
            return;
        };
        let Some(cost) = rule.cost((policy, policy_index), &scope, plan) else {
            return;
        };
        let cost = subject.times(cost);
        self.replaced.extend_from_slice(&rule.replaces);
        for (limit_index, (limit, beginning)) in policy.limits.iter().zip(&rule.beginnings.own).enumerate() {
            let source = Source {
                policy,
                policy_index,
                limit,
                limit_index,
                terms: Terms::Own,
            };
            self.charge(source, key::finish(beginning, &values), cost, subject.place);
        }
    }

    /// Adds the limit that the descriptor `entries` brought along, in place of those of `policies`, of which the first that speaks says how
    /// it is treated.
    fn add_brought(
        &mut self,
        limit: &'c PolicyLimit,
        policies: &[u32],
        entries: &[Entry<'_>],
        subject: Subject<'_>,
    ) {
        let scope = Scope::Call(subject.scope);
        let speaking = policies.iter().map(|policy| *policy as usize);
        let speaking = { speaking }.find(|policy| self.speaks(*policy, &scope));
        let set = self.set;
        let (policy, policy_index) = match speaking {
            Some(index) => (&set.policies[index], index),
            None => (&set.calls.stand_in, set.policies.len()),
        };
        // A policy without limits has nothing that could be counted for it.
        let counted_for = if policy.is_unlimited() {
            set.policies.len()
        } else {
            policy_index
        };
        let cost = match speaking {
            Some(index) => set.rules[index].cost((policy, index), &scope, &mut self.planned.plan),
            None => Some(policy.cost),
        };
        let Some(cost) = cost else {
            return;
        };
        let cost = subject.times(cost);
        let source = Source {
            policy,
            policy_index: counted_for,
            limit,
            limit_index: 0,
            terms: Terms::Own,
        };
        let key = set
            .calls
            .key(policy.consistency, limit, self.call.domain, entries);
        self.charge(source, key, cost, subject.place);
    }

    fn charge(&mut self, source: Source<'c>, key: Key, cost: Cost, place: Option<u32>) {
        self.planned.plan.charges.push(Charge {
            key,
            limit: &source.limit.limit,
            cost,
            mode: source.policy.mode,
            hold: self.hold,
        });
        self.planned.plan.sources.push(source);
        self.planned.places.push(place);
    }

    fn note_unlimited(&mut self, place: Option<u32>) {
        let unlimited = &mut self.planned.unlimited;
        if let Some(place) = place
            && unlimited.last() != Some(&place)
        {
            unlimited.push(place);
        }
    }

    /// Whether policy number `index` speaks about what is in `scope` now. If that cannot be told, it is in the plan then.
    fn speaks(&mut self, index: usize, scope: &Scope<'_>) -> bool {
        let (policy, rule) = (&self.set.policies[index], &self.set.rules[index]);
        if !rule.speaks_at(self.now) {
            return false;
        }
        let Some(when) = &rule.expressions.when else {
            return true;
        };
        match when.holds(scope, &mut Fuel::new()) {
            Ok(held) => held,
            Err(fault) => {
                let failure = ExpressionFailure {
                    policy,
                    policy_index: index,
                    field: ExpressionField::When,
                    fault,
                };
                self.planned.plan.fail(failure, rule.expressions.on_error);
                false
            }
        }
    }
}

/// Keeps of `items` those that `stays` says.
fn retain<A: smallvec::Array>(items: &mut SmallVec<A>, stays: &[bool]) {
    let mut stays = stays.iter();
    items.retain(|_| stays.next() == Some(&true));
}
