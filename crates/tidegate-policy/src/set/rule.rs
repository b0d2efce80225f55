//! How one policy makes charges of a request or call.

use smallvec::SmallVec;
use tidegate_core::{Cost, KeyBuilder, KeyHasher, Timestamp};

use super::beginnings::Beginnings;
use super::key::{Found, Values};
use super::{Asked, Hit, Parts, Rule};
use crate::document::policy::OnMissing;
use crate::expression::{Fuel, Scope};
use crate::plan::{ExpressionFailure, ExpressionField, Refusal, Terms};
use crate::{ExpressionFault, Identity, NamedSubject, Plan, Policy, PolicyLimit, Prefixes};

impl Rule {
    /// The first of `hits` for which `when` holds. If it holds for none and failed for one, that is in the plan then.
    pub(super) fn chosen<'set, 'r>(
        &'set self,
        (policy, policy_index): (&'set Policy, usize),
        hits: &[Hit],
        asked: Asked<'r, '_>,
        plan: &mut Plan<'set>,
    ) -> Option<Found<'r>> {
        let mut places = hits.iter().map(|hit| asked.found(hit));
        let Some(when) = &self.expressions.when else {
            return places.next();
        };
        // A path with many readings must not make it expensive.
        let mut fuel = Fuel::new();
        let mut failed = None;
        for found in places {
            match when.holds(&asked.scope(found), &mut fuel) {
                Ok(true) => return Some(found),
                Ok(false) => {}
                Err(fault) => failed = Some(fault),
            }
        }
        let failure = ExpressionFailure {
            policy,
            policy_index,
            field: ExpressionField::When,
            fault: failed?,
        };
        plan.fail(failure, self.expressions.on_error);
        None
    }

    /// What names its counters for `scope`. None if there is a part missing; what that means is in the plan then.
    pub(super) fn values<'set: 'v, 'v>(
        &'set self,
        (policy, policy_index): (&'set Policy, usize),
        scope: &'v Scope<'v>,
        found: Found<'v>,
        prefixes: Prefixes,
        plan: &mut Plan<'set>,
    ) -> Option<Values<'v>> {
        let mut failed = SmallVec::<[ExpressionFault; 1]>::new();
        let values = self.recipe.values(scope, found, prefixes, &mut failed);
        plan.failures
            .extend(failed.into_iter().map(|fault| ExpressionFailure {
                policy,
                policy_index,
                field: ExpressionField::Key,
                fault,
            }));
        match values {
            Ok(values) => Some(values),
            Err(_) if self.recipe.on_missing == OnMissing::Skip => None,
            Err(part) => {
                let part = &part.text;
                plan.refuse(Refusal::MissingKeyPart { policy, part }, policy.mode);
                None
            }
        }
    }

    /// What a request costs. None if that cannot be computed, which is in the plan then.
    pub(super) fn cost<'set>(
        &'set self,
        (policy, policy_index): (&'set Policy, usize),
        scope: &Scope<'_>,
        plan: &mut Plan<'set>,
    ) -> Option<Cost> {
        let Some(cost) = &self.expressions.cost else {
            return Some(policy.cost);
        };
        match cost.cost(scope) {
            Ok(units) => Some(Cost::new(units)),
            Err(fault) => {
                let failure = ExpressionFailure {
                    policy,
                    policy_index,
                    field: ExpressionField::Cost,
                    fault,
                };
                plan.fail(failure, self.expressions.on_error);
                None
            }
        }
    }

    pub(super) fn new(parts: &Parts, replaces: Vec<u32>, hasher: &KeyHasher) -> Self {
        let beginnings = Beginnings::of(&parts.policy, &parts.recipe, hasher);
        let special = beginnings.tiers.iter().chain(&beginnings.overrides);
        Self {
            most_charges: special.map(Vec::len).fold(beginnings.own.len(), usize::max),
            beginnings,
            conditions: parts.conditions.clone(),
            recipe: parts.recipe.clone(),
            exempt: parts.exempt.clone(),
            expressions: parts.expressions.clone(),
            schedule: parts.schedule.clone(),
            body: parts.body,
            is_about_calls: parts.call.is_some(),
            replaces,
        }
    }

    pub(super) fn exempts(&self, asked: Asked<'_, '_>) -> bool {
        let Some(list) = &self.exempt else {
            return false;
        };
        list.holds(asked.request.client, asked.identity, asked.now)
    }

    pub(super) fn speaks_at(&self, now: Timestamp) -> bool {
        self.schedule
            .as_ref()
            .is_none_or(|schedule| schedule.is_open(now))
    }

    /// The limits for `identity`: those of its own override while it lasts, else of its tier if `policy` names it, else the
    /// policy's own.
    pub(super) fn limits_for<'set>(
        &'set self,
        policy: &'set Policy,
        identity: &Identity,
        now: Timestamp,
    ) -> (Terms<'set>, &'set [PolicyLimit], &'set [KeyBuilder]) {
        let Identity::Known { subject, tier, .. } = identity else {
            return (Terms::Own, &policy.limits, &self.beginnings.own);
        };
        let overrides = &policy.overrides;
        let mut places = NamedSubject::places(overrides, subject, |special| &special.whose);
        // That of an issuer comes before that of any, and after it in the list.
        let place = places.rfind(|place| {
            let special = &overrides[*place];
            special.whose.is(identity) && now < special.until
        });
        if let Some(place) = place {
            let special = &overrides[place];
            let beginnings = &self.beginnings.overrides[place];
            return (Terms::Override(special), &special.limits, beginnings);
        }
        if let Some(tier) = tier {
            let tiers = policy.tiers.iter().zip(&self.beginnings.tiers);
            for ((name, limits), beginnings) in tiers {
                if name == tier {
                    return (Terms::Tier(name), limits, beginnings);
                }
            }
        }
        (Terms::Own, &policy.limits, &self.beginnings.own)
    }
}
