//! What a program says of a body, and what it wants to know of the decision.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tidegate_core::{Decision, Outcome};
use tidegate_policy::{Body, Course, Plan, Reason, Source, Verdict};

use super::order::{Turn, keys, takes_slots};
use crate::pipeline::{Held, NotRead, ReadAhead};

/// A body that was given whole, or not at all.
pub(super) struct Given<'o> {
    peek: bool,
    /// Its place, if it is one of several.
    turn: Option<Turn<'o>>,
    takes_slots: Cell<bool>,
    told: RefCell<Told>,
}

/// What was decided.
#[derive(Default)]
pub(super) struct Told {
    /// What each limit said.
    pub(super) limits: Vec<Value>,
    /// Why the policies refused.
    pub(super) error: Option<&'static str>,
    pub(super) retry_after: Option<Duration>,
    pub(super) delay: Option<Duration>,
    /// Why the store could not decide.
    pub(super) failure: Option<&'static str>,
}

impl<'o> Given<'o> {
    pub(super) fn new(peek: bool, turn: Option<Turn<'o>>) -> Self {
        Self {
            peek,
            turn,
            takes_slots: Cell::new(false),
            told: RefCell::default(),
        }
    }

    pub(super) fn into_told(self) -> Told {
        self.told.into_inner()
    }
}

impl ReadAhead for Given<'_> {
    type Incoming = Option<Bytes>;
    type Early = Infallible;

    fn is_empty(&self, body: &Option<Bytes>) -> bool {
        body.as_ref().is_some_and(Bytes::is_empty)
    }

    async fn read(
        &self,
        body: &mut Option<Bytes>,
        most: usize,
        _held: &Arc<Held>,
    ) -> Result<(Body, Option<Infallible>), NotRead> {
        let body = match body {
            None => Body::UNREAD,
            Some(body) if body.len() > most => Body::TOO_LARGE,
            Some(body) => Body::whole(body.clone()),
        };
        Ok((body, None))
    }

    fn only_looks(&self) -> bool {
        self.peek
    }

    fn turn<'t>(&'t self, plan: &Plan<'_>) -> Option<Pin<Box<dyn Future<Output = ()> + 't>>> {
        let turn = self.turn.as_ref()?;
        self.takes_slots.set(takes_slots(plan));
        Some(Box::pin(turn.wait(keys(plan))))
    }

    fn decided(&self, verdict: &Verdict<'_>) {
        // Slots are given back when the check has ended.
        if let Some(turn) = self.turn.as_ref().filter(|_| !self.takes_slots.get()) {
            turn.decided();
        }
        self.told.replace(Told::of(verdict));
    }
}

impl Told {
    /// What `verdict` says.
    pub(super) fn of(verdict: &Verdict<'_>) -> Self {
        let (error, retry_after, delay) = match &verdict.course {
            Course::Pass => (None, None, None),
            Course::Delay(delay) => (None, None, Some(*delay)),
            Course::Reject(reason @ Reason::Limited { retry_after }) => {
                (Some(reason.word()), Some(*retry_after), None)
            }
            Course::Reject(reason) => (Some(reason.word()), None, None),
        };
        let limits = verdict.readings.iter();
        Self {
            limits: limits
                .map(|reading| limit(&reading.source, &reading.decision))
                .collect(),
            error,
            retry_after,
            delay,
            failure: verdict.failure.map(|failure| failure.name()),
        }
    }
}

/// What one limit said.
pub(super) fn limit(source: &Source<'_>, decision: &Decision) -> Value {
    let mut told = json!({
        "policy": source.policy.name.as_ref() as &str,
        "name": source.limit.label.as_ref() as &str,
        "limit": source.limit.limit.capacity(),
        "allowed": decision.outcome.passes(),
        "remaining": decision.remaining,
        "reset_after_ms": millis(decision.reset_after),
    });
    if let Outcome::Deny { retry_after } = decision.outcome {
        told["retry_after_ms"] = millis(retry_after).into();
    }
    told
}

/// Whole milliseconds, rounded up: who waits as long has waited long enough.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
