//! What becomes of a request.

#[cfg(test)]
mod tests;

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Charge, Decision, Decisions, Mode, Outcome};

use crate::{Finding, Findings, OnStoreFailure, Plan, Refusal, Source};

/// What becomes of a request, and what its limits said.
#[derive(Clone, Debug)]
pub struct Verdict<'set> {
    /// What the door does.
    pub course: Course<'set>,
    /// What each enforced limit said, in the plan's order. Limits in shadow mode are not here: clients never learn of them.
    pub readings: SmallVec<[Reading<'set>; 4]>,
    /// What the first policy in shadow mode that would have refused the request said.
    pub shadow: Option<Shadow<'set>>,
    /// Set if the store could not decide: `course` then follows the policies' `on_store_failure`.
    pub failure: Option<StoreFailure>,
    deciding: usize,
}

/// What the door does with a request.
#[derive(Clone, Copy, Debug)]
pub enum Course<'set> {
    /// Forward it.
    Pass,
    /// Hold it back so long, then forward it.
    Delay(Duration),
    /// Answer it here.
    Reject(Reason<'set>),
}

/// Why a request is answered here instead of forwarded.
#[derive(Clone, Copy, Debug)]
pub enum Reason<'set> {
    /// A limit is used up; after this wait all violated limits let the request pass if nobody else spends.
    Limited {
        /// The longest wait of the violated limits; never zero.
        retry_after: Duration,
    },
    /// It costs more than a limit ever holds.
    Never,
    /// The plan refused it before any limit was asked.
    Unplanned(Refusal<'set>),
    /// The store could not decide and a policy says `on_store_failure: deny`.
    StoreFailed,
}

impl Reason<'_> {
    /// What bodies, the access log and metrics call it in `error`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Limited { .. } => "rate_limit_exceeded",
            Self::Never => "cost_exceeds_limit",
            Self::StoreFailed => "limiter_failed",
            Self::Unplanned(refusal) => refusal.word(),
        }
    }
}

/// What one limit said.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'set> {
    /// Which limit.
    pub source: Source<'set>,
    /// Which charge of the plan: two descriptors of one call may meet the same limit.
    pub place: usize,
    /// What it said.
    pub decision: Decision,
}

/// What a policy in shadow mode would have refused.
#[derive(Clone, Copy, Debug)]
pub enum Shadow<'set> {
    /// A limit that is used up.
    Limit(Reading<'set>),
    /// A refusal without asking a limit.
    Unplanned(Refusal<'set>),
}

impl<'set> Shadow<'set> {
    /// The limit or policy that would have refused, or what else would have.
    pub fn name(&self) -> &'set str {
        match self {
            Self::Limit(reading) => &reading.source.limit.label,
            Self::Unplanned(
                Refusal::MissingKeyPart { policy, .. }
                | Refusal::BodyTooLarge { policy, .. }
                | Refusal::ExpressionFailed { policy, .. },
            ) => &policy.name,
            Self::Unplanned(refusal @ (Refusal::AmbiguousPath | Refusal::TooManyLimits)) => refusal.word(),
        }
    }
}

/// Why the store could not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreFailure {
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Unavailable,
    /// An answer that does not fit the charges.
    Garbled,
}

impl StoreFailure {
    /// Every way to fail.
    pub const ALL: [Self; 3] = [Self::Timeout, Self::Unavailable, Self::Garbled];

    /// The name in header fields, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Garbled => "garbled",
        }
    }
}

impl<'set> Plan<'set> {
    /// The verdict on this plan's request, from the store's decisions or its failure.
    ///
    /// A plan with a refusal or without charges needs no store: conclude it with `Ok(&Decisions::default())`.
    /// For policies that say `on_store_failure: local`, charge this process's own share first and conclude with those
    /// decisions; without them such policies let the request pass.
    pub fn conclude(&self, answer: Result<&Decisions, StoreFailure>) -> Verdict<'set> {
        let verdict = match (self.refusal, answer) {
            (Some(refusal), _) => Verdict::bare(Course::Reject(Reason::Unplanned(refusal))),
            (None, Ok(decisions)) if decisions.each.len() == self.charges.len() => {
                self.weigh(decisions.each.iter().copied().map(Some))
            }
            (None, Ok(_)) => self.without_store(StoreFailure::Garbled),
            (None, Err(failure)) => self.without_store(failure),
        };
        self.told_of_shadows(verdict)
    }

    /// Adds what a policy in shadow mode would have refused before any limit was asked.
    fn told_of_shadows(&self, mut verdict: Verdict<'set>) -> Verdict<'set> {
        if let Some(&refusal) = self.shadow_refusals.first() {
            verdict.shadow.get_or_insert(Shadow::Unplanned(refusal));
        }
        verdict
    }

    /// The same, where charges were decided in several places, of which the shared store may have failed: then each policy goes by its
    /// `on_store_failure`, and one enforced policy that denies is enough.
    pub fn conclude_findings(&self, findings: &Findings) -> Verdict<'set> {
        let Some(failure) = findings.failure else {
            return self.told_of_shadows(self.weigh(findings.each.iter().map(Finding::decision)));
        };
        let charges = self.charges.iter().zip(&self.sources).zip(&findings.each);
        let mut failed = charges.filter(|(_, finding)| **finding == Finding::Failed);
        let denied = failed.any(|((charge, source), _)| denies(charge, source));
        let verdict = if denied {
            Verdict::bare(Course::Reject(Reason::StoreFailed))
        } else {
            self.weigh(findings.each.iter().map(Finding::decision))
        };
        self.told_of_shadows(Verdict {
            failure: Some(failure),
            ..verdict
        })
    }

    /// `decisions` has one for each charge, if it was decided.
    fn weigh(&self, decisions: impl Iterator<Item = Option<Decision>>) -> Verdict<'set> {
        let mut verdict = Verdict::bare(Course::Pass);
        let charges = self.charges.iter().zip(&self.sources).enumerate();
        for ((place, (charge, &source)), decision) in charges.zip(decisions) {
            let Some(decision) = decision else {
                continue;
            };
            let reading = Reading {
                source,
                place,
                decision,
            };
            match charge.mode {
                Mode::Enforce => verdict.add(reading),
                Mode::Shadow if decision.outcome.passes() => {}
                Mode::Shadow => {
                    verdict.shadow.get_or_insert(Shadow::Limit(reading));
                }
            }
        }
        verdict
    }

    fn without_store(&self, failure: StoreFailure) -> Verdict<'set> {
        let mut charges = self.charges.iter().zip(&self.sources);
        let denied = charges.any(|(charge, source)| denies(charge, source));
        let course = if denied {
            Course::Reject(Reason::StoreFailed)
        } else {
            Course::Pass
        };
        Verdict {
            failure: Some(failure),
            ..Verdict::bare(course)
        }
    }
}

impl<'set> Verdict<'set> {
    /// The limit to tell the client of: the violated one that asks for the longest wait, else the one with the least left.
    pub fn deciding(&self) -> Option<&Reading<'set>> {
        self.readings.get(self.deciding)
    }

    /// One word for logs, metrics and the origin: `pass`, `shadow`, `delay` or `reject`.
    pub fn word(&self) -> &'static str {
        match self.course {
            Course::Reject(_) => "reject",
            Course::Delay(_) => "delay",
            Course::Pass if self.shadow.is_some() => "shadow",
            Course::Pass => "pass",
        }
    }

    fn bare(course: Course<'set>) -> Self {
        Self {
            course,
            readings: SmallVec::new(),
            shadow: None,
            failure: None,
            deciding: 0,
        }
    }

    fn add(&mut self, reading: Reading<'set>) {
        let decides = match self.deciding() {
            None => true,
            Some(other) => tightness(&reading.decision) > tightness(&other.decision),
        };
        if decides {
            self.deciding = self.readings.len();
        }
        self.course = harsher(self.course, reading.decision.outcome);
        self.readings.push(reading);
    }
}

/// Whether a request is refused if this charge cannot be decided.
fn denies(charge: &Charge<'_>, source: &Source<'_>) -> bool {
    charge.mode == Mode::Enforce && source.policy.on_store_failure == OnStoreFailure::Deny
}

/// Orders decisions by how much they hold a client back: never, then the longest wait, then the least left, then the
/// longest way back to full.
fn tightness(decision: &Decision) -> (u8, Duration, u64, Duration) {
    let (rank, wait) = match decision.outcome {
        Outcome::Never => (2, Duration::ZERO),
        Outcome::Deny { retry_after } => (1, retry_after),
        Outcome::Allow { .. } => (0, Duration::ZERO),
    };
    (rank, wait, u64::MAX - decision.remaining, decision.reset_after)
}

/// The course after one more limit spoke.
fn harsher<'set>(course: Course<'set>, outcome: Outcome) -> Course<'set> {
    let reject = |retry_after| Course::Reject(Reason::Limited { retry_after });
    match (course, outcome) {
        (_, Outcome::Never) => Course::Reject(Reason::Never),
        (Course::Reject(Reason::Limited { retry_after: other }), Outcome::Deny { retry_after }) => {
            reject(retry_after.max(other))
        }
        (Course::Reject(reason), _) => Course::Reject(reason),
        (_, Outcome::Deny { retry_after }) => reject(retry_after),
        (course, Outcome::Allow { delay }) if delay.is_zero() => course,
        (Course::Pass, Outcome::Allow { delay }) => Course::Delay(delay),
        (Course::Delay(other), Outcome::Allow { delay }) => Course::Delay(other.max(delay)),
    }
}
