//! Where a request's charges are decided: in this process's memory, in the store that instances share, or in both.
//!
//! Each policy says where it counts. Charges of both kinds are still all or nothing: those in memory come first, since a refusal there costs
//! no call, and are given back if the shared store refuses the others.

mod outage;
mod refund;
mod single;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;
use tidegate_core::{Charge, Cost, Decision, Decisions, HoldId, Key, KeyHasher, Mode, Timestamp};
use tidegate_policy::{Consistency, Finding, Findings, OnStoreFailure, Plan, Source, StoreFailure};
use tidegate_store::{Memory, Store, StoreError};

use tidegate_clock::Clock;

pub use outage::Outage;

/// The counters of one process, and those that it shares with others in the store `S`.
#[derive(Debug)]
pub struct Counters<S> {
    local: Memory,
    shared: Option<Shared<S>>,
}

/// What only a process with a shared store has.
#[derive(Debug)]
struct Shared<S> {
    store: S,
    /// Names this process's own counters for what is counted in the store. Names in the store have no secret that clients do not know,
    /// and the table in memory needs one.
    own_names: KeyHasher,
    outage: Outage,
}

/// Charges that are decided in one place.
type Charges<'p> = SmallVec<[Charge<'p>; 4]>;

impl<S: Store> Counters<S> {
    /// Counters in `memory` alone.
    pub fn local(memory: Memory) -> Self {
        Self {
            local: memory,
            shared: None,
        }
    }

    /// Counters in `memory` and in `store`. While that cannot be asked, counters in memory take its place under names that `own_names`
    /// makes.
    pub fn sharing(memory: Memory, store: S, own_names: KeyHasher) -> Self {
        Self {
            local: memory,
            shared: Some(Shared {
                store,
                own_names,
                outage: Outage::default(),
            }),
        }
    }

    /// The counters of this process.
    pub fn memory(&self) -> &Memory {
        &self.local
    }

    /// The store that instances share, if there is one.
    pub fn store(&self) -> Option<&S> {
        self.shared.as_ref().map(|shared| &shared.store)
    }

    /// Whether the shared store answers, if there is one.
    pub fn outage(&self) -> Option<&Outage> {
        self.shared.as_ref().map(|shared| &shared.outage)
    }

    /// Whether all that `plan` asks is decided in memory.
    #[inline]
    pub fn are_local(&self, plan: &Plan<'_>) -> bool {
        self.shared.is_none() || !plan.sources.iter().any(is_shared)
    }

    /// Decides in memory alone.
    #[inline]
    fn charge_locally(&self, plan: &Plan<'_>, now: Timestamp) -> Decisions {
        self.local.table().charge(&plan.charges, now)
    }

    /// Decides on all charges of `plan`, wherever they are decided.
    pub async fn charge(&self, plan: &Plan<'_>, now: Timestamp, clock: &Clock) -> Findings {
        let Some(shared) = &self.shared else {
            return found(plan, Some(&self.charge_locally(plan, now)), None, None);
        };
        let own = Spending::of(self, charges(plan, |source| !is_shared(source)), now);
        if !own.decisions.charged {
            return found(plan, Some(&own.decisions), None, None);
        }
        let asked = charges(plan, is_shared);
        let answer = match shared.store.charge(&asked, now).await {
            Ok(decisions) if decisions.each.len() == asked.len() => Ok(decisions),
            Ok(_) => Err(StoreFailure::Garbled),
            Err(error) => Err(failure(error)),
        };
        match answer {
            Ok(decisions) => {
                shared.outage.is_over(clock);
                let own = own.kept_if(decisions.charged, clock);
                found(plan, Some(&own), Some(&decisions), None)
            }
            Err(failure) => {
                shared.outage.seen(failure, clock);
                self.charge_alone(plan, own, (shared, failure), clock)
            }
        }
    }

    /// The same for a store that has just failed, and is not asked again.
    pub(crate) fn charge_without_store(
        &self,
        plan: &Plan<'_>,
        failure: StoreFailure,
        now: Timestamp,
        clock: &Clock,
    ) -> Findings {
        let own = Spending::of(self, charges(plan, |source| !is_shared(source)), now);
        match &self.shared {
            Some(shared) if own.decisions.charged => self.charge_alone(plan, own, (shared, failure), clock),
            _ => found(plan, Some(&own.decisions), None, None),
        }
    }

    /// Does what the policies say for a store that cannot decide.
    fn charge_alone(
        &self,
        plan: &Plan<'_>,
        own: Spending<'_, '_>,
        (shared, failure): (&Shared<S>, StoreFailure),
        clock: &Clock,
    ) -> Findings {
        let pairs = || plan.charges.iter().zip(&plan.sources);
        let denies = |(charge, source): (&Charge<'_>, &Source<'_>)| {
            is_shared(source)
                && charge.mode == Mode::Enforce
                && source.policy.on_store_failure == OnStoreFailure::Deny
        };
        if pairs().any(denies) {
            own.give_back(clock);
            return found(plan, None, None, Some((failure, None)));
        }
        let in_its_place = pairs()
            .filter(|(_, source)| takes_its_place(source))
            .map(|(charge, source)| shared.in_its_place(charge, source));
        let alone = Spending::of(self, in_its_place.collect(), clock.now());
        let own = own.kept_if(alone.decisions.charged, clock);
        found(plan, Some(&own), None, Some((failure, Some(&alone.decisions))))
    }

    /// Gives back slots of concurrency limits at once, as far as they are counted in memory; the keys of the others.
    pub(crate) fn release_locally(&self, slots: &[Slot], hold: HoldId, now: Timestamp) -> SmallVec<[Key; 2]> {
        let mut elsewhere = SmallVec::new();
        for slot in slots {
            match (slot, &self.shared) {
                (Slot::Shared(key), Some(shared)) => {
                    elsewhere.push(*key);
                    // It may have been taken here instead. What was not taken is not given back.
                    self.local.table().release(shared.own_name(*key), hold, now);
                }
                (Slot::Local(key) | Slot::Shared(key), _) => self.local.table().release(*key, hold, now),
            }
        }
        elsewhere
    }
}

impl<S> Shared<S> {
    /// The charge on this process's own counter that takes the place of `charge`.
    fn in_its_place<'p>(&self, charge: &Charge<'p>, source: &Source<'p>) -> Charge<'p> {
        let limit = source.limit.local();
        // Whatever may be spent of the whole limit may be spent of a share, which is then used up.
        let cost = if charge.cost.units() <= charge.limit.capacity() {
            Cost::new(charge.cost.units().min(limit.capacity()))
        } else {
            charge.cost
        };
        Charge {
            key: self.own_name(charge.key),
            limit,
            cost,
            ..*charge
        }
    }

    fn own_name(&self, key: Key) -> Key {
        self.own_names.key(&key.hash().to_le_bytes())
    }
}

/// A slot of a concurrency limit, by where it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Local(Key),
    Shared(Key),
}

impl Slot {
    /// The slot that a charge of `source` takes under `key`.
    pub(crate) fn of(key: Key, source: &Source<'_>) -> Self {
        match source.policy.consistency {
            Consistency::Local => Self::Local(key),
            Consistency::Strict => Self::Shared(key),
        }
    }
}

/// What was spent in memory, and can be given back.
struct Spending<'m, 'p> {
    memory: &'m Memory,
    charges: Charges<'p>,
    decisions: Decisions,
    at: Timestamp,
}

impl<'m, 'p> Spending<'m, 'p> {
    fn of<S>(counters: &'m Counters<S>, charges: Charges<'p>, at: Timestamp) -> Self {
        let memory = &counters.local;
        Self {
            decisions: memory.table().charge(&charges, at),
            memory,
            charges,
            at,
        }
    }

    fn give_back(&self, clock: &Clock) {
        let table = self.memory.table();
        table.give_back(&self.charges, &self.decisions, self.at, clock.now());
    }

    /// What the counters said, if all others passed; else it is given back, and they tell what is left without it.
    fn kept_if(mut self, all_passed: bool, clock: &Clock) -> Decisions {
        if all_passed || self.charges.is_empty() {
            return self.decisions;
        }
        self.give_back(clock);
        let looks: Charges<'_> = self
            .charges
            .iter()
            .map(|charge| Charge {
                cost: Cost::LOOK,
                ..*charge
            })
            .collect();
        let unspent = self.memory.table().charge(&looks, clock.now());
        for (decision, look) in self.decisions.each.iter_mut().zip(unspent.each) {
            *decision = Decision {
                outcome: decision.outcome,
                ..look
            };
        }
        self.decisions
    }
}

/// What a store's error is called.
fn failure(error: StoreError) -> StoreFailure {
    match error {
        StoreError::Timeout => StoreFailure::Timeout,
        _ => StoreFailure::Unavailable,
    }
}

/// Whether a charge of `source` is decided in the shared store.
fn is_shared(source: &Source<'_>) -> bool {
    source.policy.consistency == Consistency::Strict
}

/// Whether this process decides on charges of `source` by itself if the shared store cannot.
fn takes_its_place(source: &Source<'_>) -> bool {
    is_shared(source) && source.policy.on_store_failure == OnStoreFailure::Local
}

/// The charges of `plan` whose source is `wanted`.
fn charges<'p>(plan: &Plan<'p>, wanted: impl Fn(&Source<'p>) -> bool) -> Charges<'p> {
    let pairs = plan.charges.iter().zip(&plan.sources);
    pairs
        .filter(|(_, source)| wanted(source))
        .map(|(charge, _)| *charge)
        .collect()
}

/// What is known about each charge of `plan`: the decisions of its own memory and of the shared store, as far as they were asked, or why the
/// latter failed, and what was decided in its place.
fn found(
    plan: &Plan<'_>,
    own: Option<&Decisions>,
    shared: Option<&Decisions>,
    failed: Option<(StoreFailure, Option<&Decisions>)>,
) -> Findings {
    let each = |decisions: Option<&Decisions>| decisions.map(|decisions| decisions.each.clone());
    let (own, shared) = (each(own), each(shared));
    let alone = each(failed.and_then(|(_, alone)| alone));
    let (mut own, mut shared, mut alone) = (
        own.into_iter().flatten(),
        shared.into_iter().flatten(),
        alone.into_iter().flatten(),
    );
    let finding = |source: &Source<'_>| {
        let decision = if !is_shared(source) {
            own.next()
        } else if failed.is_none() {
            shared.next()
        } else if takes_its_place(source) {
            alone.next()
        } else {
            None
        };
        match (decision, failed) {
            (Some(decision), _) => Finding::Decided(decision),
            (None, Some(_)) if is_shared(source) => Finding::Failed,
            (None, _) => Finding::Unasked,
        }
    };
    Findings {
        each: plan.sources.iter().map(finding).collect(),
        failure: failed.map(|(failure, _)| failure),
    }
}
