//! Whole responses to requests that are not forwarded.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use tidegate_core::Timestamp;

use super::form::Form;
use super::pad::Pad;
use super::reject::{Moment, Reject};
use super::usual::Usual;
use super::{Answers, LimitFields, accept, body, mark_failure, number};
use crate::{
    Course, IdentityRefusal, KeyFault, KeyPlace, KeyRefusal, Reason, Refusal, Request, TokenFault, Verdict,
};

/// Room for the body and the changing fields of a usual refusal.
const USUAL_BYTES: usize = 512;

/// Room for the fields of a refusal and those that the door adds.
const USUAL_FIELDS: usize = 12;

impl Answers {
    /// The whole response to a refused request; `None` if the verdict lets it pass.
    ///
    /// | reason | status | body's `error` |
    /// | --- | --- | --- |
    /// | a limit is used up | 429 or what the policy's `reject` says, `Retry-After` | `rate_limit_exceeded` |
    /// | it costs more than a limit ever holds | the same, without `Retry-After` | `cost_exceeds_limit` |
    /// | it lacks what a policy counts by | 400 | `missing_key_part` |
    /// | its body is longer than a policy looks at | 413 | `body_too_large` |
    /// | its path can be read in too many ways | 400 | `ambiguous_path` |
    /// | as a call of the rate limit service, it meets too many limits | 400 | `too_many_limits` |
    /// | the store could not decide | 503, `X-Tidegate-Failure` | `limiter_failed` |
    pub fn refuse(
        &self,
        verdict: &Verdict<'_>,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Response<Bytes>> {
        let Course::Reject(reason) = &verdict.course else {
            return None;
        };
        let form = accept::form(request);
        let own = own_words(verdict, reason, form);
        let status = match reason {
            Reason::Limited { .. } | Reason::Never => {
                own.map_or(StatusCode::TOO_MANY_REQUESTS, |own| own.status)
            }
            Reason::Unplanned(Refusal::BodyTooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            Reason::Unplanned(_) => StatusCode::BAD_REQUEST,
            Reason::StoreFailed => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut pad = Pad::with_capacity(USUAL_BYTES);
        let wait = match reason {
            Reason::Limited { retry_after } => Some(number::wait_secs(jittered(
                *retry_after,
                self.retry_jitter_percent,
                now,
            ))),
            Reason::Never | Reason::Unplanned(_) | Reason::StoreFailed => None,
        };
        let limit_fields = LimitFields::write(self, &mut pad, verdict, now);
        let wait_text = wait.map(|secs| pad.note(|out| number::push(out, secs)));
        let text = pad.note(|out| match reason {
            Reason::Limited { .. } => body::limited(out, verdict, status, wait.unwrap_or(1)),
            Reason::Never => body::never(out, verdict, status),
            Reason::Unplanned(refusal) => body::unplanned(out, refusal),
            Reason::StoreFailed => body::store_failed(out),
        });
        let bytes = pad.finish();
        let wait_value = wait_text.map(|text| text.value(&bytes));
        let mut fields = match usual(&limit_fields, &bytes, wait_value.as_ref(), form) {
            Some(usual) => usual.fields(),
            None => {
                let mut fields = HeaderMap::with_capacity(USUAL_FIELDS);
                limit_fields.set(&bytes, &mut fields);
                if let Some(wait_value) = wait_value {
                    fields.insert(header::RETRY_AFTER, wait_value);
                }
                about_body(request, &mut fields);
                fields
            }
        };
        mark_failure(verdict.failure, &mut fields);
        let mut response = form.response(status, fields, text.bytes(&bytes));
        if let Some(own) = own {
            let moment = Moment { wait_secs: wait, now };
            own.tell(verdict, &moment, &mut response);
        }
        Some(for_method(request, response))
    }

    /// The whole response to a request of a client that `access` denies: 403.
    pub fn refuse_access(&self, request: &Request<'_>) -> Response<Bytes> {
        let mut fields = HeaderMap::with_capacity(USUAL_FIELDS);
        let mut text = Vec::with_capacity(USUAL_BYTES);
        body::access_denied(&mut text);
        about_body(request, &mut fields);
        respond(request, StatusCode::FORBIDDEN, fields, text.into())
    }

    /// The whole response to a request whose credential was refused: 401, or 503 if nobody can tell whether its token holds.
    pub fn refuse_identity(&self, refusal: &IdentityRefusal<'_>, request: &Request<'_>) -> Response<Bytes> {
        let mut fields = HeaderMap::with_capacity(USUAL_FIELDS);
        let status = match refusal {
            IdentityRefusal::Token(TokenFault::NoKeys) => {
                fields.insert(header::RETRY_AFTER, KEYS_RETRY_AFTER);
                StatusCode::SERVICE_UNAVAILABLE
            }
            IdentityRefusal::ApiKey(KeyRefusal {
                fault: KeyFault::Unanswered(_),
                ..
            }) => {
                fields.insert(header::RETRY_AFTER, STORE_RETRY_AFTER);
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => {
                fields.insert(header::WWW_AUTHENTICATE, challenge(refusal));
                StatusCode::UNAUTHORIZED
            }
        };
        let mut text = Vec::with_capacity(USUAL_BYTES);
        match refusal {
            IdentityRefusal::ApiKey(refusal) => body::refused_key(&mut text, refusal),
            IdentityRefusal::Token(fault) => body::refused_token(&mut text, *fault),
        }
        about_body(request, &mut fields);
        respond(request, status, fields, text.into())
    }
}

/// When the keys of an issuer may be there: they are asked for about as often.
const KEYS_RETRY_AFTER: HeaderValue = HeaderValue::from_static("10");

/// When the store may answer again: it is tried at least once a second.
const STORE_RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// What would be accepted instead. RFC 6750 section 3: the error is named only if there was a token.
fn challenge(refusal: &IdentityRefusal<'_>) -> HeaderValue {
    match refusal {
        IdentityRefusal::ApiKey(refusal) if refusal.places.iter().any(is_authorization) => {
            HeaderValue::from_static("Bearer")
        }
        IdentityRefusal::ApiKey(_) => HeaderValue::from_static("ApiKey"),
        IdentityRefusal::Token(TokenFault::Missing) => HeaderValue::from_static("Bearer"),
        IdentityRefusal::Token(fault) => {
            let text = format!(
                "Bearer error=\"invalid_token\", error_description=\"{}\"",
                body::about_token(*fault)
            );
            HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Bearer"))
        }
    }
}

fn is_authorization(place: &KeyPlace) -> bool {
    *place == KeyPlace::Header(header::AUTHORIZATION)
}

/// `wait`, longer by up to `percent` of it. How much depends on the nanosecond of the refusal, which no two clients share often.
fn jittered(wait: Duration, percent: u8, now: Timestamp) -> Duration {
    if percent == 0 {
        return wait;
    }
    // Fibonacci hashing: the upper bits of the product are spread evenly, whatever the clock's resolution.
    let spread = now.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let most_ns = wait.as_nanos() * u128::from(percent) / 100;
    let extra_ns = (most_ns * u128::from(spread)) >> 32;
    wait.saturating_add(Duration::from_nanos(u64::try_from(extra_ns).unwrap_or(u64::MAX)))
}

/// RFC 6585, 4: caches must not store a 429. The others are true for one moment only, too.
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// What the policy that decides says instead of the usual. gRPC clients understand only the usual.
fn own_words<'v>(verdict: &'v Verdict<'_>, reason: &Reason<'_>, form: Form) -> Option<&'v Reject> {
    let (Reason::Limited { .. } | Reason::Never) = reason else {
        return None;
    };
    if matches!(form, Form::Grpc(_)) {
        return None;
    }
    verdict.deciding()?.source.policy.reject.as_deref()
}

/// The fields of a refusal that tells all there is to tell.
fn usual(
    limit_fields: &LimitFields<'_>,
    pad: &Bytes,
    wait: Option<&HeaderValue>,
    form: Form,
) -> Option<Usual> {
    Some(Usual {
        retry_after: wait?.clone(),
        x_rate_limit: limit_fields.x_rate_limit.as_ref()?.values(pad),
        rate_limit: limit_fields.rate_limit.values(pad)?,
        cache_control: NO_STORE,
        content_type: form.media_type(),
    })
}

/// No cache keeps it, and of which type the body is.
fn about_body(request: &Request<'_>, fields: &mut HeaderMap) {
    fields.insert(header::CACHE_CONTROL, NO_STORE);
    fields.insert(header::CONTENT_TYPE, accept::form(request).media_type());
}

/// The response whose problem document is `document`, in the form that the client likes best.
fn respond(request: &Request<'_>, status: StatusCode, fields: HeaderMap, document: Bytes) -> Response<Bytes> {
    for_method(request, accept::form(request).response(status, fields, document))
}

/// The response without its body if only the head was asked for.
fn for_method(request: &Request<'_>, mut response: Response<Bytes>) -> Response<Bytes> {
    if request.method == Method::HEAD {
        *response.body_mut() = Bytes::new();
    }
    response
}
