//! Giving back what was spent some time ago.

use tidegate_clock::Clock;
use tidegate_core::{Charge, Timestamp};
use tidegate_policy::{Plan, Source, StoreFailure};
use tidegate_store::Store;

use super::{Charges, Counters, Shared, charges, failure, is_shared, takes_its_place};

impl<S: Store> Counters<S> {
    /// Gives back what charges like those of `plan` spent at some time, of which nothing more is known: as much as their counters hold, the
    /// latest spendings first, so that none has more than if it had never been used.
    ///
    /// What the shared store surely did not give back comes back to the counters of this process that take its place, if the policy says so.
    /// What it may have given back is not given back again.
    ///
    /// # Errors
    /// Why the shared store did not give back all of it.
    pub async fn refund(&self, plan: &Plan<'_>, now: Timestamp, clock: &Clock) -> Result<(), StoreFailure> {
        let table = self.local.table();
        let Some(shared) = &self.shared else {
            table.refund(&plan.charges, now);
            return Ok(());
        };
        table.refund(&charges(plan, |source| !is_shared(source)), now);
        let pairs = plan.charges.iter().zip(&plan.sources);
        let pairs: Vec<(&Charge<'_>, &Source<'_>)> = pairs.filter(|(_, source)| is_shared(source)).collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let asked: Charges<'_> = pairs.iter().map(|(charge, _)| **charge).collect();
        let Err(not_refunded) = shared.store.refund(&asked, now).await else {
            shared.outage.is_over(clock);
            return Ok(());
        };
        let failure = failure(not_refunded.error);
        shared.outage.seen(failure, clock);
        let untouched = not_refunded
            .untouched
            .iter()
            .filter_map(|place| pairs.get(*place));
        table.refund(&in_its_place(shared, untouched), clock.now());
        Err(failure)
    }
}

/// The charges on this process's own counters that take the place of those among `pairs` that have any.
fn in_its_place<'a, 'p: 'a, S>(
    shared: &Shared<S>,
    pairs: impl Iterator<Item = &'a (&'a Charge<'p>, &'a Source<'p>)>,
) -> Charges<'p> {
    pairs
        .filter(|(_, source)| takes_its_place(source))
        .map(|(charge, source)| shared.in_its_place(charge, source))
        .collect()
}
