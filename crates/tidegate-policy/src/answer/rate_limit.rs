//! `RateLimit` and `RateLimit-Policy`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_core::Outcome;

use super::pad::{Pad, Span};
use super::{RateLimitForm, number};
use crate::{Course, Reading, Verdict};

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The values of the two fields; those that change are on the pad.
#[derive(Default)]
pub(super) struct Values<'a> {
    limit: Option<Span>,
    policy: Option<Policy<'a>>,
}

enum Policy<'a> {
    /// The ready-made text of the only limit.
    Made(&'a HeaderValue),
    Noted(Span),
}

impl<'a> Values<'a> {
    /// Writes the two fields. A refusal tells the violated limits, other responses all enforced ones; the policies are
    /// always all.
    pub(super) fn write(form: RateLimitForm, pad: &mut Pad, verdict: &'a Verdict<'_>) -> Self {
        match form {
            RateLimitForm::Draft11 => Self {
                limit: Some(pad.note(|out| push_limits(out, verdict))),
                policy: policy(pad, verdict, |reading| Some(&reading.source.limit.told.policy_11)),
            },
            RateLimitForm::Draft07 => Self {
                limit: verdict
                    .deciding()
                    .map(|deciding| pad.note(|out| push_dictionary(out, deciding))),
                policy: policy(pad, verdict, |reading| {
                    reading.source.limit.told.policy_07.as_ref()
                }),
            },
            RateLimitForm::Omit => Self::default(),
        }
    }

    /// Sets the fields where there are none.
    pub(super) fn set(&self, pad: &Bytes, fields: &mut HeaderMap) {
        if let Some(limit) = self.limit {
            fields.insert(RATE_LIMIT, limit.value(pad));
        }
        if let Some(policy) = &self.policy {
            fields.insert(RATE_LIMIT_POLICY, policy.value(pad));
        }
    }

    /// The values of both fields, if both are told.
    pub(super) fn values(&self, pad: &Bytes) -> Option<[HeaderValue; 2]> {
        let (limit, policy) = (self.limit?, self.policy.as_ref()?);
        Some([limit.value(pad), policy.value(pad)])
    }

    /// Adds to the origin's lists of the same form, replaces everything else.
    pub(super) fn merge(&self, form: RateLimitForm, pad: &Bytes, fields: &mut HeaderMap) {
        let is_list = |name: &HeaderName| {
            fields
                .get(name)
                .is_some_and(|value| value.as_bytes().starts_with(b"\""))
        };
        if form != RateLimitForm::Draft11 || !is_list(&RATE_LIMIT) || !is_list(&RATE_LIMIT_POLICY) {
            return self.set(pad, fields);
        }
        if let Some(limit) = self.limit {
            fields.append(RATE_LIMIT, limit.value(pad));
        }
        if let Some(policy) = &self.policy {
            fields.append(RATE_LIMIT_POLICY, policy.value(pad));
        }
    }
}

impl Policy<'_> {
    fn value(&self, pad: &Bytes) -> HeaderValue {
        match self {
            Self::Made(value) => (*value).clone(),
            Self::Noted(span) => span.value(pad),
        }
    }
}

/// The texts of all limits as one list.
fn policy<'a, 'set: 'a>(
    pad: &mut Pad,
    verdict: &'a Verdict<'set>,
    text: impl Fn(&'a Reading<'set>) -> Option<&'a HeaderValue>,
) -> Option<Policy<'a>> {
    let mut texts = verdict.readings.iter().filter_map(text);
    let first = texts.next()?;
    let Some(second) = texts.next() else {
        return Some(Policy::Made(first));
    };
    Some(Policy::Noted(pad.note(|out| {
        out.extend_from_slice(first.as_bytes());
        for text in std::iter::once(second).chain(texts) {
            out.extend_from_slice(b", ");
            out.extend_from_slice(text.as_bytes());
        }
    })))
}

/// Draft -11: `"api";r=9;t=2, "daily";r=500;t=3600`.
fn push_limits(out: &mut Vec<u8>, verdict: &Verdict<'_>) {
    let refused = matches!(verdict.course, Course::Reject(_));
    let told = verdict
        .readings
        .iter()
        .filter(|reading| !refused || !reading.decision.outcome.passes());
    for (index, reading) in told.enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        let told = &reading.source.limit.told;
        out.extend_from_slice(&told.item_11);
        number::push_sf(out, reading.decision.remaining);
        if !told.is_concurrency {
            out.extend_from_slice(b";t=");
            number::push_sf(out, number::wait_secs(effective_window(reading)));
        }
    }
}

/// Draft -07: `limit=10, remaining=9, reset=2`.
fn push_dictionary(out: &mut Vec<u8>, deciding: &Reading<'_>) {
    out.extend_from_slice(&deciding.source.limit.told.item_07);
    number::push_sf(out, deciding.decision.remaining);
    out.extend_from_slice(b", reset=");
    number::push_sf(out, number::wait_secs(effective_window(deciding)));
}

/// How long `remaining` holds: whoever spends no more than that in this time is not refused, and when it is over more can
/// be spent. So both readings of the parameter that the drafts have had are true.
fn effective_window(reading: &Reading<'_>) -> Duration {
    let decision = &reading.decision;
    match (decision.outcome, reading.source.limit.told.next_unit) {
        (Outcome::Deny { retry_after }, _) => retry_after,
        (_, Some(next_unit)) if decision.remaining == 0 => next_unit.min(decision.reset_after),
        _ => decision.reset_after,
    }
}
