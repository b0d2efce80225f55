//! What the counters say to the plan of one request, and the place to wait at that it may need.

use tidegate_clock::Clock;
use tidegate_core::{Charge, Cost, Decision, Decisions, Timestamp};
use tidegate_policy::{Finding, Findings, Plan, StoreFailure, Verdict};
use tidegate_store::{NoPlace, Place, Store, Turns, would_wait};

use crate::Counters;

/// What the counters said.
#[derive(Debug)]
pub enum Answer {
    /// Those of this process, which are all that were asked.
    Own(Decisions),
    /// Those of this process and of the shared store.
    Shared(Box<Findings>),
}

impl Answer {
    /// The decision on each charge, as far as there is one, in the plan's order.
    pub fn decisions(&self) -> impl Iterator<Item = Option<Decision>> {
        let (own, found) = match self {
            Self::Own(decisions) => (&*decisions.each, &[][..]),
            Self::Shared(findings) => (&[][..], &*findings.each),
        };
        let own = own.iter().copied().map(Some);
        own.chain(found.iter().map(Finding::decision))
    }

    /// Whether slots may be held for the request: not if it is known that none was taken.
    pub fn holds(&self, plan: &Plan<'_>) -> bool {
        match self {
            Self::Own(decisions) => decisions.charged,
            Self::Shared(findings) => {
                findings.failure.is_some() || findings.charged(plan.charges.iter().map(|charge| charge.mode))
            }
        }
    }

    /// What that means for the request.
    pub fn conclude<'set>(&self, plan: &Plan<'set>) -> Verdict<'set> {
        match self {
            Self::Own(decisions) => plan.conclude(Ok(decisions)),
            Self::Shared(findings) => plan.conclude_findings(findings),
        }
    }
}

impl<S: Store> Counters<S> {
    /// Asks for all that `plan` wants, once there is a place among `turns` where that may be needed. None if the request would have to
    /// wait and there is no place to: then nothing was spent.
    #[inline]
    pub async fn ask<'t>(
        &self,
        plan: &Plan<'_>,
        turns: &'t Turns,
        now: Timestamp,
        clock: &Clock,
    ) -> Option<(Answer, Option<Place<'t>>)> {
        if plan.charges.is_empty() {
            return Some((Answer::Own(Decisions::default()), None));
        }
        if self.are_local(plan) {
            let (decided, place) = turns.charge(self.memory(), &plan.charges, now).await?;
            return Some((Answer::Own(decided.unwrap_or_default()), place));
        }
        // Boxed, so that the future of a request that needs no shared store stays small.
        let (findings, place) = Box::pin(self.ask_shared(plan, turns, None, (now, clock))).await?;
        Some((Answer::Shared(findings), place))
    }

    /// The same where the shared store has just failed in what belongs to the same question, and is not asked again.
    pub async fn ask_without_store<'t>(
        &self,
        plan: &Plan<'_>,
        turns: &'t Turns,
        failure: StoreFailure,
        now: Timestamp,
        clock: &Clock,
    ) -> Option<(Answer, Option<Place<'t>>)> {
        if plan.charges.is_empty() || self.are_local(plan) {
            return self.ask(plan, turns, now, clock).await;
        }
        let (findings, place) = self.ask_shared(plan, turns, Some(failure), (now, clock)).await?;
        Some((Answer::Shared(findings), place))
    }

    async fn ask_shared<'t>(
        &self,
        plan: &Plan<'_>,
        turns: &'t Turns,
        failed: Option<StoreFailure>,
        (now, clock): (Timestamp, &Clock),
    ) -> Option<(Box<Findings>, Option<Place<'t>>)> {
        let place = match turns.place_for(&plan.charges) {
            Ok(place) => place,
            Err(NoPlace) => {
                let seen = self.decide(&looks(plan), failed, now, clock).await;
                let seen = seen.each.iter().map(Finding::decision);
                if would_wait(&plan.charges, seen) {
                    return None;
                }
                None
            }
        };
        let findings = self.decide(plan, failed, now, clock).await;
        Some((Box::new(findings), place))
    }

    async fn decide(
        &self,
        plan: &Plan<'_>,
        failed: Option<StoreFailure>,
        now: Timestamp,
        clock: &Clock,
    ) -> Findings {
        match failed {
            None => self.charge(plan, now, clock).await,
            Some(failure) => self.charge_without_store(plan, failure, now, clock),
        }
    }
}

/// `plan` as it would be if it only looked.
fn looks<'p>(plan: &Plan<'p>) -> Plan<'p> {
    let look = |charge: &Charge<'p>| Charge {
        cost: Cost::LOOK,
        ..*charge
    };
    Plan {
        charges: plan.charges.iter().map(look).collect(),
        sources: plan.sources.clone(),
        ..Plan::default()
    }
}
