//! Problem bodies: one JSON object with the members of RFC 9457, and `error` and `message` for those who know no problems.

use http::StatusCode;

use super::number;
use super::told::json_text;
use crate::{KeyFault, KeyPlace, KeyRefusal, Refusal, Verdict};

/// Everything of a body that is known when it is written: the members up to the changing ones.
const QUOTA_EXCEEDED: &[u8] = br#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":"#;
const STORE_FAILED: &[u8] =
    br#"{"type":"about:blank","title":"Service Unavailable","status":503,"error":"limiter_failed""#;
const MISSING_PART: &[u8] =
    br#"{"type":"about:blank","title":"Bad Request","status":400,"error":"missing_key_part""#;
const EXPRESSION_FAILED: &[u8] =
    br#"{"type":"about:blank","title":"Bad Request","status":400,"error":"expression_failed""#;
const AMBIGUOUS_PATH: &[u8] =
    br#"{"type":"about:blank","title":"Bad Request","status":400,"error":"ambiguous_path""#;
const ACCESS_DENIED: &[u8] =
    br#"{"type":"about:blank","title":"Forbidden","status":403,"error":"access_denied""#;
const BODY_TOO_LARGE: &[u8] =
    br#"{"type":"about:blank","title":"Content Too Large","status":413,"error":"body_too_large""#;
const KEY_MISSING: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"missing_api_key""#;
const KEY_UNKNOWN: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"unknown_api_key""#;
const KEY_REVOKED: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"revoked_api_key""#;

/// A limit is used up; `wait_secs` is what `Retry-After` says.
pub(super) fn limited(out: &mut Vec<u8>, verdict: &Verdict<'_>, status: StatusCode, wait_secs: u64) {
    quota_exceeded(out, status);
    out.extend_from_slice(b",\"error\":\"rate_limit_exceeded\",\"retry_after\":");
    number::push(out, wait_secs);
    violated_policies(out, verdict);
    message(out, |out| {
        out.extend_from_slice(b"The limit '");
        deciding_name(out, verdict);
        out.extend_from_slice(b"' is used up. Try again in ");
        number::push(out, wait_secs);
        out.extend_from_slice(if wait_secs == 1 { b" second." } else { b" seconds." });
    });
}

/// The request costs more than a limit ever holds.
pub(super) fn never(out: &mut Vec<u8>, verdict: &Verdict<'_>, status: StatusCode) {
    quota_exceeded(out, status);
    out.extend_from_slice(b",\"error\":\"cost_exceeds_limit\"");
    violated_policies(out, verdict);
    message(out, |out| {
        out.extend_from_slice(b"This request costs more than the limit '");
        deciding_name(out, verdict);
        out.extend_from_slice(b"' ever holds. Waiting does not help.");
    });
}

fn quota_exceeded(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(QUOTA_EXCEEDED);
    out.extend_from_slice(status.as_str().as_bytes());
}

/// The store could not decide.
pub(super) fn store_failed(out: &mut Vec<u8>) {
    out.extend_from_slice(STORE_FAILED);
    message(out, |out| {
        out.extend_from_slice(b"The rate limiter could not decide. No limit of yours is used up.")
    });
}

/// The plan refused the request.
pub(super) fn unplanned(out: &mut Vec<u8>, refusal: &Refusal<'_>) {
    match refusal {
        Refusal::MissingKeyPart { policy, part } => {
            out.extend_from_slice(MISSING_PART);
            message(out, |out| {
                out.extend_from_slice(b"The policy '");
                out.extend(json_text(&policy.name));
                out.extend_from_slice(b"' counts by ");
                out.extend(json_text(part));
                out.extend_from_slice(b", which this request lacks or has more than once.");
            });
        }
        Refusal::BodyTooLarge { policy, max_bytes } => {
            out.extend_from_slice(BODY_TOO_LARGE);
            message(out, |out| {
                out.extend_from_slice(b"The policy '");
                out.extend(json_text(&policy.name));
                out.extend_from_slice(b"' looks at bodies of at most ");
                number::push(out, *max_bytes as u64);
                out.extend_from_slice(b" bytes.");
            });
        }
        Refusal::ExpressionFailed { policy, .. } => {
            out.extend_from_slice(EXPRESSION_FAILED);
            message(out, |out| {
                out.extend_from_slice(b"The policy '");
                out.extend(json_text(&policy.name));
                out.extend_from_slice(b"' cannot tell what this request is.");
            });
        }
        Refusal::AmbiguousPath => {
            out.extend_from_slice(AMBIGUOUS_PATH);
            message(out, |out| {
                out.extend_from_slice(b"The path can be read as too many different ones.")
            });
        }
    }
}

/// The client is on the list of those who are denied.
pub(super) fn access_denied(out: &mut Vec<u8>) {
    out.extend_from_slice(ACCESS_DENIED);
    message(out, |out| out.extend_from_slice(b"This client is not let in."));
}

/// The API key was refused. The key is not in the body.
pub(super) fn refused_key(out: &mut Vec<u8>, refusal: &KeyRefusal<'_>) {
    let (head, text) = match refusal.fault {
        KeyFault::Missing => (KEY_MISSING, "An API key is needed, in "),
        KeyFault::Unknown => (KEY_UNKNOWN, "This API key is not known. It was looked for in "),
        KeyFault::Revoked => (KEY_REVOKED, "This API key was revoked. It was found in "),
    };
    let (place, name) = match refusal.place {
        KeyPlace::Header(name) => ("the header field ", name.as_str()),
        KeyPlace::Query(name) => ("the query parameter ", name.as_str()),
        KeyPlace::Cookie(name) => ("the cookie ", name.as_str()),
    };
    out.extend_from_slice(head);
    message(out, |out| {
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(place.as_bytes());
        out.extend(json_text(name));
        out.push(b'.');
    });
}

fn violated_policies(out: &mut Vec<u8>, verdict: &Verdict<'_>) {
    out.extend_from_slice(b",\"violated-policies\":[");
    let violated = verdict
        .readings
        .iter()
        .filter(|reading| !reading.decision.outcome.passes());
    for (index, reading) in violated.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(&reading.source.limit.told.json_name);
        out.push(b'"');
    }
    out.push(b']');
}

/// The last two members: the same text for readers of `detail` and for readers of `message`.
fn message(out: &mut Vec<u8>, text: impl Fn(&mut Vec<u8>)) {
    out.extend_from_slice(b",\"detail\":\"");
    let start = out.len();
    text(out);
    let end = out.len();
    out.extend_from_slice(b"\",\"message\":\"");
    out.extend_from_within(start..end);
    out.extend_from_slice(b"\"}");
}

fn deciding_name(out: &mut Vec<u8>, verdict: &Verdict<'_>) {
    if let Some(deciding) = verdict.deciding() {
        out.extend_from_slice(&deciding.source.limit.told.json_name);
    }
}
