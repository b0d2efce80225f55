//! From a verdict to bytes: what the client and the origin are told.

mod told;

use bytes::Bytes;
use http::{HeaderMap, Response};
use tidegate_core::Timestamp;

use crate::{Identity, KeyRefusal, Request, Verdict};

pub(crate) use told::Told;

/// How clients are told of their limits. Fixed at load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The form of `RateLimit` and `RateLimit-Policy`.
    pub rate_limit: RateLimitForm,
    /// Whether `X-RateLimit-Limit`, `-Remaining` and `-Reset` are sent.
    pub x_rate_limit: XRateLimit,
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
    /// Tells the client of its limits on a response that came from the origin.
    pub fn mark(&self, verdict: &Verdict<'_>, now: Timestamp, fields: &mut HeaderMap) {
        let _ = (verdict, now, fields);
    }

    /// The whole response to a refused request; `None` if the verdict lets it pass.
    pub fn refuse(
        &self,
        verdict: &Verdict<'_>,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Response<Bytes>> {
        let _ = (verdict, request, now);
        None
    }

    /// The whole response to a request whose API key was refused (401).
    pub fn refuse_key(&self, refusal: &KeyRefusal<'_>, request: &Request<'_>) -> Response<Bytes> {
        let _ = (refusal, request);
        Response::default()
    }
}

/// Tells the origin what was decided: removes what the client sent under our names, then sets them.
/// Call it after hop-by-hop fields are removed, on every forwarded request.
pub fn tell_origin(verdict: &Verdict<'_>, identity: &Identity, fields: &mut HeaderMap) {
    let _ = (verdict, identity, fields);
}
