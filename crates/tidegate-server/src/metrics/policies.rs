//! What each limit decided, and which expressions failed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{Mode, Outcome};
use tidegate_policy::{
    Consistency, ExpressionFailure, ExpressionField, OnStoreFailure, Policy, Source, StoreFailure,
};

use super::count::Count;
use super::page::Page;

/// What a limit says to a request, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Allow,
    Deny,
    Delayed,
    Never,
    /// A limit in shadow mode would have refused.
    ShadowDeny,
}

/// The words of [`Answered`], in its order.
pub(crate) const OUTCOMES: [&str; 5] = ["allow", "deny", "delayed", "never", "shadow_deny"];

impl Answered {
    /// What `outcome` means under `mode`.
    pub(crate) fn of(outcome: Outcome, mode: Mode) -> Self {
        match (outcome, mode) {
            (Outcome::Allow { delay }, Mode::Enforce) if !delay.is_zero() => Self::Delayed,
            (Outcome::Allow { .. }, _) => Self::Allow,
            (Outcome::Deny { .. } | Outcome::Never, Mode::Shadow) => Self::ShadowDeny,
            (Outcome::Deny { .. }, Mode::Enforce) => Self::Deny,
            (Outcome::Never, Mode::Enforce) => Self::Never,
        }
    }
}

/// The meters of one set of policies.
#[derive(Debug, Default)]
pub struct Meters {
    /// Where the limits of each policy begin, in the order of the set.
    starts: Box<[usize]>,
    limits: Box<[Arc<LimitMeter>]>,
    /// One for each policy, in the order of the set.
    expressions: Box<[Arc<ExpressionMeter>]>,
    /// The same, for those that count in a shared store.
    degraded: Box<[Arc<DegradedMeter>]>,
}

/// How often a policy had to do without the shared store, by why. Counted in one place, like what is rare.
#[derive(Debug)]
struct DegradedMeter {
    policy: Arc<str>,
    /// None if the policy does not count there.
    action: Option<OnStoreFailure>,
    /// In the order of [`StoreFailure::ALL`].
    reasons: [AtomicU64; StoreFailure::ALL.len()],
}

/// How often the expressions of one policy failed. Rare, so that all workers count in one place.
#[derive(Debug)]
struct ExpressionMeter {
    policy: Arc<str>,
    /// Those of its fields that are expressions.
    fields: Box<[(ExpressionField, AtomicU64)]>,
}

/// What one limit has decided. A policy's tiers share the meters of its limits.
#[derive(Debug)]
struct LimitMeter {
    policy: Arc<str>,
    /// Its number, from 1.
    number: usize,
    workers: Box<[Outcomes]>,
}

/// What one limit has decided in one worker, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Outcomes([Count; OUTCOMES.len()]);

impl Meters {
    /// The meters of `policies`. Limits that `before` had already, by policy and number, keep theirs.
    pub(super) fn following(before: &Self, policies: &[Policy], workers: usize) -> Self {
        let known = before
            .limits
            .iter()
            .map(|limit| ((&*limit.policy, limit.number), limit));
        let known: HashMap<(&str, usize), &Arc<LimitMeter>> = known.collect();
        let (mut starts, mut limits) = (Vec::new(), Vec::new());
        for policy in policies {
            starts.push(limits.len());
            for number in 1..=most_limits(policy) {
                limits.push(match known.get(&(&*policy.name, number)) {
                    Some(limit) => Arc::clone(limit),
                    None => Arc::new(LimitMeter::new(policy, number, workers)),
                });
            }
        }
        Self {
            starts: starts.into(),
            limits: limits.into(),
            expressions: expressions_following(before, policies),
            degraded: degraded_following(before, policies),
        }
    }

    /// Counts what the limit of `source` answered in worker number `worker`, which calls this itself.
    #[inline]
    pub(crate) fn count(&self, worker: usize, source: &Source<'_>, answered: Answered) {
        let start = self.starts.get(source.policy_index);
        let limit = start.and_then(|start| self.limits.get(start + source.limit_index));
        if let Some(outcomes) = limit.and_then(|limit| limit.workers.get(worker)) {
            outcomes.0[answered as usize].one();
        }
    }

    /// Counts that an expression had no value for a request.
    pub(crate) fn count_failure(&self, failure: &ExpressionFailure<'_>) {
        let meter = self.expressions.get(failure.policy_index);
        let fields = meter.map(|meter| &*meter.fields).unwrap_or_default();
        if let Some((_, count)) = fields.iter().find(|(field, _)| *field == failure.field) {
            // A count and nothing else; no memory is handed over with it.
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts that the policies of `sources` that count in the shared store had to do without it, each once.
    pub(crate) fn count_degraded(&self, sources: &[Source<'_>], failure: StoreFailure) {
        let mut last = None;
        for source in sources {
            let Some(meter) = self.degraded.get(source.policy_index) else {
                continue;
            };
            let is_again = last.replace(source.policy_index) == Some(source.policy_index);
            if meter.action.is_some() && !is_again {
                // A count and nothing else; no memory is handed over with it.
                meter.reasons[failure as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn tell(&self, page: &mut Page<'_>) -> std::fmt::Result {
        self.tell_limits(page)?;
        self.tell_degraded(page)?;
        self.tell_expressions(page)
    }

    fn tell_degraded(&self, page: &mut Page<'_>) -> std::fmt::Result {
        let mut family = page.family(
            "tidegate_policy_degraded",
            "Requests for which a policy had to do without the shared store",
        )?;
        for meter in &self.degraded {
            let Some(action) = meter.action else { continue };
            for (reason, count) in StoreFailure::ALL.iter().zip(&meter.reasons) {
                let labels = [
                    ("policy", &*meter.policy),
                    ("action", action.name()),
                    ("reason", reason.name()),
                ];
                family.counter(labels, count.load(Ordering::Relaxed))?;
            }
        }
        Ok(())
    }

    fn tell_expressions(&self, page: &mut Page<'_>) -> std::fmt::Result {
        let mut family = page.family(
            "tidegate_expression_errors",
            "Requests for which an expression of a policy had no value",
        )?;
        for meter in &self.expressions {
            for (field, count) in &meter.fields {
                let labels = [("policy", &*meter.policy), ("field", field.name())];
                family.counter(labels, count.load(Ordering::Relaxed))?;
            }
        }
        Ok(())
    }

    fn tell_limits(&self, page: &mut Page<'_>) -> std::fmt::Result {
        let mut family = page.family(
            "tidegate_policy_decisions",
            "What each limit said to requests, whatever the others said",
        )?;
        for limit in &self.limits {
            let number = limit.number.to_string();
            for (outcome, word) in OUTCOMES.into_iter().enumerate() {
                let counts = limit.workers.iter().map(|worker| worker.0[outcome].get());
                let labels = [("policy", &*limit.policy), ("limit", &number), ("outcome", word)];
                family.counter(labels, counts.fold(0, u64::wrapping_add))?;
            }
        }
        Ok(())
    }
}

/// The meters of the expressions of `policies`. Those that `before` had already for the same fields are kept.
fn expressions_following(before: &Meters, policies: &[Policy]) -> Box<[Arc<ExpressionMeter>]> {
    let known = before.expressions.iter().map(|meter| (&*meter.policy, meter));
    let known: HashMap<&str, &Arc<ExpressionMeter>> = known.collect();
    let meters = policies.iter().map(|policy| match known.get(&*policy.name) {
        Some(meter) if meter.is_of(&policy.expressions) => Arc::clone(meter),
        _ => Arc::new(ExpressionMeter::new(policy)),
    });
    meters.collect()
}

/// The meters of what `policies` do without the shared store. Those that `before` had already are kept.
fn degraded_following(before: &Meters, policies: &[Policy]) -> Box<[Arc<DegradedMeter>]> {
    let known = before.degraded.iter().map(|meter| (&*meter.policy, meter));
    let known: HashMap<&str, &Arc<DegradedMeter>> = known.collect();
    let meters = policies.iter().map(|policy| {
        let action = (policy.consistency == Consistency::Strict).then_some(policy.on_store_failure);
        match known.get(&*policy.name) {
            Some(meter) if meter.action == action => Arc::clone(meter),
            _ => Arc::new(DegradedMeter {
                policy: policy.name.clone(),
                action,
                reasons: Default::default(),
            }),
        }
    });
    meters.collect()
}

impl ExpressionMeter {
    fn new(policy: &Policy) -> Self {
        let fields = policy.expressions.iter();
        Self {
            policy: policy.name.clone(),
            fields: fields.map(|field| (*field, AtomicU64::new(0))).collect(),
        }
    }

    fn is_of(&self, fields: &[ExpressionField]) -> bool {
        self.fields.iter().map(|(own, _)| own).eq(fields)
    }
}

impl LimitMeter {
    fn new(policy: &Policy, number: usize, workers: usize) -> Self {
        Self {
            policy: policy.name.clone(),
            number,
            workers: (0..workers).map(|_| Outcomes::default()).collect(),
        }
    }
}

/// How many limits a request can meet under `policy`, whoever sent it.
fn most_limits(policy: &Policy) -> usize {
    let tiers = policy.tiers.iter().map(|(_, limits)| limits.len());
    let overrides = policy.overrides.iter().map(|other| other.limits.len());
    tiers.chain(overrides).fold(policy.limits.len(), usize::max)
}
