//! What was decided about a call of the rate limit service, in its words.

mod status;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Response, Version};
use std::net::{IpAddr, Ipv4Addr};
use tidegate_policy::{Body, Course, Reason, Refusal, Request, Verdict};
use tonic::Status;

use super::wire::Written;
use super::wire::rate_limit::{Code, response};
use crate::live::Live;
use crate::pipeline::CallDecided;

/// The answer to a call of `count` descriptors.
pub(super) fn told(live: &Live, decided: &CallDecided<'_>, count: usize) -> Result<Written, Status> {
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
    let mut answer = Written::new();
    answer.number(response::OVERALL_CODE, overall as u64);
    status::write_each(decided, count, &mut answer);
    answer.fields(response::RESPONSE_HEADERS_TO_ADD, &head.headers);
    answer.bytes(response::RAW_BODY, &raw_body);
    answer.message(response::DYNAMIC_METADATA, |told| metadata(verdict, told));
    Ok(answer)
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

/// What access logs and other filters of the proxy are told, in a `Struct`.
pub(super) fn metadata(verdict: &Verdict<'_>, told: &mut Written) {
    told.text_of_struct("verdict", verdict.word());
    if let Some(deciding) = verdict.deciding() {
        told.text_of_struct("policy", &deciding.source.policy.name);
        told.text_of_struct("limit", &deciding.source.limit.label);
        told.number_of_struct("remaining", deciding.decision.remaining);
    }
    if let Course::Reject(reason) = &verdict.course {
        told.text_of_struct("error", reason.word());
    }
    if let Some(shadow) = &verdict.shadow {
        told.text_of_struct("shadow", shadow.name());
    }
    if let Some(failure) = verdict.failure {
        told.text_of_struct("failure", failure.name());
    }
}
