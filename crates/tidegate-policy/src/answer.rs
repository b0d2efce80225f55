//! From a verdict to bytes: what the client and the origin are told.
//!
//! Nothing here is formatted twice: texts that only depend on a limit are made at load, numbers are written into one
//! buffer per response, and header values are slices of that buffer.

mod accept;
mod body;
mod form;
mod liking;
mod number;
mod origin;
mod pad;
mod rate_limit;
mod refusal;
pub(crate) mod reject;
#[cfg(test)]
mod tests;
mod told;
mod usual;
mod x_rate_limit;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_core::Timestamp;

use crate::{StoreFailure, Verdict};
use pad::Pad;

pub use body::ERRORS;
pub use liking::Liking;
pub use origin::{is_reserved, is_spelling, tell_origin};
pub(crate) use told::Told;

const FAILURE: HeaderName = HeaderName::from_static("x-tidegate-failure");

/// How clients are told of their limits. Fixed at load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The form of `RateLimit` and `RateLimit-Policy`.
    pub rate_limit: RateLimitForm,
    /// Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are sent.
    pub x_rate_limit: XRateLimit,
    /// How much longer than necessary `Retry-After` may be, in percent of the wait. Clients that were refused together then
    /// do not come back together.
    pub retry_jitter_percent: u8,
}

/// The form of `RateLimit` and `RateLimit-Policy`, by the Internet-Draft that describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimitForm {
    /// draft-ietf-httpapi-ratelimit-headers-11: `RateLimit: "api";r=9;t=2`.
    #[default]
    Draft11,
    /// The same, draft -07: `RateLimit: limit=10, remaining=9, reset=2`.
    Draft07,
    /// Neither field.
    Omit,
}

/// Whether the `X-RateLimit` fields are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XRateLimit {
    /// They are; `-Reset` counts in seconds since the epoch.
    #[default]
    EpochSeconds,
    /// They are not.
    Omit,
}

impl Answers {
    /// Tells the client of its limits on a response that came from the origin, whatever its status.
    ///
    /// If the origin limits too, the client learns of both: its `RateLimit` lists are added to (those of another form are
    /// replaced), and its `X-RateLimit` fields stay where they leave less than ours.
    pub fn mark(&self, verdict: &Verdict<'_>, now: Timestamp, fields: &mut HeaderMap) {
        mark_failure(verdict.failure, fields);
        let mut pad = Pad::with_capacity(64 * (verdict.readings.len() + 1));
        let ours = LimitFields::write(self, &mut pad, verdict, now);
        ours.merge(self.rate_limit, &pad.finish(), fields);
    }
}

/// What the fields about limits say; texts that change are on the pad. Empty if no enforced limit was asked.
#[derive(Default)]
struct LimitFields<'a> {
    x_rate_limit: Option<x_rate_limit::Values<'a>>,
    rate_limit: rate_limit::Values<'a>,
}

impl<'a> LimitFields<'a> {
    fn write(answers: &Answers, pad: &mut Pad, verdict: &'a Verdict<'_>, now: Timestamp) -> Self {
        let Some(deciding) = verdict.deciding() else {
            return Self::default();
        };
        Self {
            x_rate_limit: match answers.x_rate_limit {
                XRateLimit::EpochSeconds => Some(x_rate_limit::Values::write(pad, deciding, now)),
                XRateLimit::Omit => None,
            },
            rate_limit: rate_limit::Values::write(answers.rate_limit, pad, verdict),
        }
    }

    /// Sets the fields of a response of ours.
    fn set(&self, pad: &Bytes, fields: &mut HeaderMap) {
        if let Some(values) = &self.x_rate_limit {
            values.set(pad, fields);
        }
        self.rate_limit.set(pad, fields);
    }

    /// Adds the fields to a response of the origin, which may limit too.
    fn merge(&self, form: RateLimitForm, pad: &Bytes, fields: &mut HeaderMap) {
        // One look at the names is cheaper than looking each of ours up, and most origins have none of them.
        if !fields.keys().any(is_about_limits) {
            return self.set(pad, fields);
        }
        if let Some(values) = &self.x_rate_limit {
            values.merge(pad, fields);
        }
        self.rate_limit.merge(form, pad, fields);
    }
}

fn is_about_limits(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("ratelimit") || name.starts_with("x-ratelimit")
}

/// Says that the store could not decide.
fn mark_failure(failure: Option<StoreFailure>, fields: &mut HeaderMap) {
    if let Some(failure) = failure {
        fields.insert(FAILURE, HeaderValue::from_static(failure.name()));
    }
}
