//! What each limit decided.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_core::{Mode, Outcome};
use tidegate_policy::{Policy, Source};

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

    pub(super) fn tell(&self, page: &mut Page<'_>) -> std::fmt::Result {
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
