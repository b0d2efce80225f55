//! What would be decided, with nothing spent.

use smallvec::smallvec;
use tidegate_core::{Charge, Cost, Decisions, Mode, Timestamp};
use tidegate_policy::{Findings, Plan, Verdict};
use tidegate_store::Store;

use super::Pipeline;

impl<S: Store> Pipeline<S> {
    /// The verdict that `plan` would have.
    pub(super) async fn look<'set>(&self, plan: &Plan<'set>, now: Timestamp) -> Verdict<'set> {
        if plan.charges.is_empty() {
            return plan.conclude(Ok(&Decisions::default()));
        }
        let mut findings = Findings::default();
        for (charge, source) in plan.charges.iter().zip(&plan.sources) {
            // All charges of a call are spent or none, and beside one that can never pass none is. What each of the others would have been told is
            // told all the same.
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
        plan.conclude_findings(&findings)
    }
}
