//! Calls of Envoy's rate limit service: what requests cost is said by a proxy, and each descriptor gets its own answer.

use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{Course, DescriptorCall, DescriptorPlan, Verdict};
use tidegate_store::Store;

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

/// Policies count in the store that instances share, where nothing is given back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotHere;

impl<S: Store> Pipeline<S> {
    /// Gives back at `now` what `call` would spend under the policies about its descriptors. Descriptors without entries are left alone, and so are
    /// policies about whole calls.
    pub(crate) fn give_back<'c, 't: 'c>(
        &self,
        live: &'c Live,
        call: &DescriptorCall<'c, 't>,
        now: Timestamp,
    ) -> Result<(), NotHere> {
        let planned = live
            .config
            .policies
            .plan_descriptors(call, HoldId::default(), now);
        if !self.counters.are_local(&planned.plan) {
            return Err(NotHere);
        }
        // Those about the whole call come last.
        let of_descriptors = planned.places.iter().take_while(|place| place.is_some()).count();
        let mut plan = planned.plan;
        plan.charges.truncate(of_descriptors);
        plan.sources.truncate(of_descriptors);
        self.counters.give_back_locally(&plan, now);
        Ok(())
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
        let (answer, place) = self.charge(&planned.plan, now).await?;
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
            now,
        })
    }
}
