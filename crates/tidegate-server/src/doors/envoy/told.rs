//! What was decided about a call of the rate limit service, in its words.

mod status;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Response, Version};
use std::net::{IpAddr, Ipv4Addr};
use tidegate_policy::{Body, Course, Reason, Refusal, Request, Verdict};
use tonic::Status;

use super::wire::rate_limit::{Code, RateLimitResponse};
use super::wire::{HeaderValue, Struct};
use crate::live::Live;
use crate::pipeline::CallDecided;

/// The answer to a call of `count` descriptors.
pub(super) fn told(
    live: &Live,
    decided: &CallDecided<'_>,
    count: usize,
) -> Result<RateLimitResponse, Status> {
    let CallDecided { verdict, now, .. } = decided;
    let answers = &live.config.answers;
    let (overall, head) = match &verdict.course {
        Course::Reject(Reason::StoreFailed) => {
            return Err(Status::unavailable(
                "the shared store does not decide, and a policy denies then",
            ));
        }
        Course::Reject(Reason::Unplanned(Refusal::TooManyLimits)) => {
            return Err(Status::resource_exhausted(
                "more limits speak about this call than one call may meet",
            ));
        }
        Course::Reject(_) => (Code::OverLimit, refusal(live, decided)),
        Course::Pass | Course::Delay(_) => {
            let mut head = Response::new(Bytes::new());
            answers.mark(verdict, *now, head.headers_mut());
            (Code::Ok, head)
        }
    };
    let (head, raw_body) = head.into_parts();
    Ok(RateLimitResponse {
        overall_code: overall.into(),
        statuses: status::each(decided, count),
        response_headers_to_add: HeaderValue::all_of(&head.headers),
        raw_body,
        dynamic_metadata: Some(metadata(verdict)),
    })
}

/// What a client gets that is refused. How it likes to be told is not known here: it gets JSON, or what the policy says.
pub(crate) fn refusal(live: &Live, decided: &CallDecided<'_>) -> Response<Bytes> {
    let request = Request {
        method: &Method::GET,
        version: Version::HTTP_11,
        host: "",
        path: "/",
        query: None,
        headers: &HeaderMap::new(),
        client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        tls: None,
        body: &Body::UNREAD,
    };
    let refusal = live
        .config
        .answers
        .refuse(&decided.verdict, &request, decided.now);
    refusal.unwrap_or_default()
}

/// What access logs and other filters of the proxy are told.
pub(super) fn metadata(verdict: &Verdict<'_>) -> Struct {
    let mut told = Struct::default().with_text("verdict", verdict.word());
    if let Some(deciding) = verdict.deciding() {
        told = told
            .with_text("policy", &deciding.source.policy.name)
            .with_text("limit", &deciding.source.limit.label)
            .with_number("remaining", deciding.decision.remaining);
    }
    if let Course::Reject(reason) = &verdict.course {
        told = told.with_text("error", reason.word());
    }
    if let Some(shadow) = &verdict.shadow {
        told = told.with_text("shadow", shadow.name());
    }
    if let Some(failure) = verdict.failure {
        told = told.with_text("failure", failure.name());
    }
    told
}
