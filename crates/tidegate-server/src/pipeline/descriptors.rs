//! Calls of Envoy's rate limit service: what requests cost is said by a proxy, and each descriptor gets its own answer.

use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{Course, DescriptorCall, DescriptorPlan, StoreFailure, Verdict};
use tidegate_store::{Place, Store};

use super::{Answer, Pipeline};
use crate::live::Live;
use crate::record::Record;

/// What was decided about a call.
pub(crate) struct CallDecided<'c> {
    /// What it asked for.
    pub(crate) planned: DescriptorPlan<'c>,
    /// What was said to each charge.
    pub(crate) answer: Answer,
    /// What that means for the whole call.
    pub(crate) verdict: Verdict<'c>,
    /// The moment for which it was decided.
    pub(crate) now: Timestamp,
}

impl<S: Store> Pipeline<S> {
    /// Gives back at `now` what `call` would spend under the policies about its descriptors. Descriptors without entries are left alone, and so are
    /// policies about whole calls.
    async fn refund<'c, 't: 'c>(
        &self,
        live: &'c Live,
        call: &DescriptorCall<'c, 't>,
        now: Timestamp,
    ) -> Result<(), StoreFailure> {
        let planned = live
            .config
            .policies
            .plan_descriptors(call, HoldId::default(), now);
        // Those about the whole call come last.
        let of_descriptors = planned.places.iter().take_while(|place| place.is_some()).count();
        let mut plan = planned.plan;
        plan.charges.truncate(of_descriptors);
        plan.sources.truncate(of_descriptors);
        self.counters.refund(&plan, now, &self.clock).await
    }

    /// Gives back what `given_back` would spend, and then decides about `call` as [`Pipeline::admit_call`] does. A shared store that fails in the
    /// former is not asked for the latter: nobody waits twice for it, and the policies do what they say for its failures.
    pub(crate) async fn refund_and_admit_call<'c, 't: 'c>(
        &self,
        live: &'c Live,
        (given_back, call): (&DescriptorCall<'c, 't>, &DescriptorCall<'c, 't>),
        hold: HoldId,
        record: &mut Record,
    ) -> Option<CallDecided<'c>> {
        let now = record.started();
        let Err(failure) = self.refund(live, given_back, now).await else {
            return self.admit_call(live, call, hold, record).await;
        };
        let planned = live.config.policies.plan_descriptors(call, hold, now);
        let asking = self
            .counters
            .ask_without_store(&planned.plan, &self.turns, failure, now, &self.clock);
        let answered = asking.await?;
        self.decided(live, planned, answered, record).await
    }

    /// Decides by `live` about one call, and waits if a limit says so. None if it would have to wait and too many do: then nothing is
    /// spent.
    pub(crate) async fn admit_call<'c, 't: 'c>(
        &self,
        live: &'c Live,
        call: &DescriptorCall<'c, 't>,
        hold: HoldId,
        record: &mut Record,
    ) -> Option<CallDecided<'c>> {
        let now = record.started();
        let planned = live.config.policies.plan_descriptors(call, hold, now);
        let answered = self.charge(&planned.plan, now).await?;
        self.decided(live, planned, answered, record).await
    }

    /// Concludes what was answered, and waits if a limit says so. None if it has to wait and there is no place to.
    async fn decided<'c>(
        &self,
        live: &'c Live,
        planned: DescriptorPlan<'c>,
        (answer, place): (Answer, Option<Place<'_>>),
        record: &mut Record,
    ) -> Option<CallDecided<'c>> {
        let verdict = answer.conclude(&planned.plan);
        record.decided(live, &planned.plan, &answer, &verdict);
        if let Course::Delay(delay) = verdict.course {
            // Boxed like everything rare.
            Box::pin(place?.wait(delay)).await;
        }
        Some(CallDecided {
            planned,
            answer,
            verdict,
            now: record.started(),
        })
    }
}
