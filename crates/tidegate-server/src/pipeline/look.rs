//! What would be decided, with nothing spent.

use smallvec::smallvec;
use tidegate_core::{Charge, Cost, Decisions, HoldId, Mode, Timestamp};
use tidegate_policy::{DescriptorCall, Findings, Plan};
use tidegate_store::Store;

use super::{Answer, CallDecided, Pipeline};
use crate::live::Live;

impl<S: Store> Pipeline<S> {
    /// What the counters would say to `plan`.
    pub(super) async fn look(&self, plan: &Plan<'_>, now: Timestamp) -> Answer {
        if plan.charges.is_empty() {
            return Answer::Own(Decisions::default());
        }
        let mut findings = Findings::default();
        for (charge, source) in plan.charges.iter().zip(&plan.sources) {
            // All charges of a call are spent or none, and beside one that can never pass none is. What each of the others would have
            // been told is told all the same.
            let never = Charge {
                cost: Cost::new(u64::MAX),
                mode: Mode::Enforce,
                ..*charge
            };
            let both = Plan {
                charges: smallvec![*charge, never],
                sources: smallvec![*source, *source],
                ..Plan::default()
            };
            let found = self.counters.charge(&both, now, &self.clock).await;
            findings.failure = findings.failure.or(found.failure);
            findings.each.extend(found.each.into_iter().take(1));
        }
        Answer::Shared(Box::new(findings))
    }

    /// What would be decided about a call of the rate limit service.
    pub(crate) async fn look_at_call<'c, 't: 'c>(
        &self,
        live: &'c Live,
        call: &DescriptorCall<'c, 't>,
        hold: HoldId,
        now: Timestamp,
    ) -> CallDecided<'c> {
        let planned = live.config.policies.plan_descriptors(call, hold, now);
        let answer = self.look(&planned.plan, now).await;
        let verdict = answer.conclude(&planned.plan);
        CallDecided {
            planned,
            answer,
            verdict,
            now,
        }
    }
}
