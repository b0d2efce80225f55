//! Problem bodies: one JSON object with the members of RFC 9457, and `error` and `message` for those who know no problems.

use http::StatusCode;

use super::number;
use super::told::json_text;
use crate::{KeyFault, KeyRefusal, Refusal, TokenFault, Verdict};

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
const TOO_MANY_LIMITS: &[u8] =
    br#"{"type":"about:blank","title":"Bad Request","status":400,"error":"too_many_limits""#;
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
const KEY_UNANSWERED: &[u8] =
    br#"{"type":"about:blank","title":"Service Unavailable","status":503,"error":"api_keys_unavailable""#;
const TOKEN_MISSING: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"missing_token""#;
const TOKEN_EXPIRED: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"expired_token""#;
const TOKEN_INVALID: &[u8] =
    br#"{"type":"about:blank","title":"Unauthorized","status":401,"error":"invalid_token""#;
const KEYS_MISSING: &[u8] =
    br#"{"type":"about:blank","title":"Service Unavailable","status":503,"error":"identity_unavailable""#;

/// Every `error` of a refusal by policies, access lists and identity. What clients, logs and metrics read; `docs/answers.md` lists them.
pub const ERRORS: &[&str] = &[
    "rate_limit_exceeded",
    "cost_exceeds_limit",
    "limiter_failed",
    "missing_key_part",
    "ambiguous_path",
    "too_many_limits",
    "body_too_large",
    "expression_failed",
    "access_denied",
    "missing_token",
    "expired_token",
    "invalid_token",
    "identity_unavailable",
    "missing_api_key",
    "unknown_api_key",
    "revoked_api_key",
    "api_keys_unavailable",
];

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
        Refusal::ExpressionFailed { policy, field } => {
            out.extend_from_slice(EXPRESSION_FAILED);
            message(out, |out| {
                out.extend_from_slice(b"The policy '");
                out.extend(json_text(&policy.name));
                out.extend_from_slice(b"' cannot compute its '");
                out.extend_from_slice(field.name().as_bytes());
                out.extend_from_slice(b"': this request lacks something, or has it in another form.");
            });
        }
        Refusal::AmbiguousPath => {
            out.extend_from_slice(AMBIGUOUS_PATH);
            message(out, |out| {
                out.extend_from_slice(b"The path can be read as too many different ones.")
            });
        }
        Refusal::TooManyLimits => {
            out.extend_from_slice(TOO_MANY_LIMITS);
            message(out, |out| {
                out.extend_from_slice(
                    b"The descriptors of this call meet more limits than one call is charged for.",
                )
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
        KeyFault::Unanswered(_) => (
            KEY_UNANSWERED,
            "Nobody can tell at the moment whether this API key is known. It was found in ",
        ),
    };
    out.extend_from_slice(head);
    message(out, |out| {
        out.extend_from_slice(text.as_bytes());
        for (index, place) in refusal.places.iter().enumerate() {
            let (kind, name) = place.in_words();
            out.extend_from_slice(if index == 0 { b"" } else { b" or " });
            out.extend_from_slice(kind.as_bytes());
            out.extend(json_text(name));
        }
        out.push(b'.');
    });
}

/// The token was refused. Neither it nor what it claims is in the body.
pub(super) fn refused_token(out: &mut Vec<u8>, fault: TokenFault) {
    out.extend_from_slice(match fault {
        TokenFault::Missing => TOKEN_MISSING,
        TokenFault::Expired => TOKEN_EXPIRED,
        TokenFault::NoKeys => KEYS_MISSING,
        _ => TOKEN_INVALID,
    });
    message(out, |out| {
        out.extend_from_slice(about_token(fault).as_bytes());
        out.push(b'.');
    });
}

/// What is wrong with a token, in words that fit between quotes.
pub(super) fn about_token(fault: TokenFault) -> &'static str {
    match fault {
        TokenFault::Missing => "A token is needed",
        TokenFault::Several => "There is more than one token",
        TokenFault::Malformed => "This is no signed token that is understood here",
        TokenFault::UnknownIssuer => "The token is of an issuer that is not known here",
        TokenFault::Algorithm => "The token is signed with an algorithm that is not accepted",
        TokenFault::UnknownKey => "The token is signed with a key that is not known here",
        TokenFault::Signature => "The signature of the token is wrong",
        TokenFault::Audience => "The token is for another audience",
        TokenFault::NoExpiry => "The token does not say when it expires",
        TokenFault::Expired => "The token has expired",
        TokenFault::NotYet => "The token is not valid yet",
        TokenFault::NoSubject => "The token does not name its subject",
        TokenFault::NoKeys => "It cannot be told now whether the token is valid. Try again later",
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::{KeyDigest, KeyPlace, Policy, Reason};

    /// The `error` of the body that `write` makes.
    fn error(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        let body: serde_json::Value = serde_json::from_slice(&out).unwrap();
        body["error"].as_str().unwrap().to_owned()
    }

    /// Every reason, found by going from one to the next: a new one does not compile until it has its place here.
    fn refusals(policy: &Policy) -> Vec<Refusal<'_>> {
        let next = |refusal: &Refusal<'_>| match refusal {
            Refusal::MissingKeyPart { .. } => Some(Refusal::BodyTooLarge { policy, max_bytes: 1 }),
            Refusal::BodyTooLarge { .. } => Some(Refusal::ExpressionFailed {
                policy,
                field: crate::ExpressionField::Cost,
            }),
            Refusal::ExpressionFailed { .. } => Some(Refusal::AmbiguousPath),
            Refusal::AmbiguousPath => Some(Refusal::TooManyLimits),
            Refusal::TooManyLimits => None,
        };
        let first = Refusal::MissingKeyPart {
            policy,
            part: "client.ip",
        };
        std::iter::successors(Some(first), next).collect()
    }

    fn reasons(policy: &Policy) -> Vec<Reason<'_>> {
        let next = |reason: &Reason<'_>| match reason {
            Reason::Limited { .. } => Some(Reason::Never),
            Reason::Never => Some(Reason::StoreFailed),
            Reason::StoreFailed | Reason::Unplanned(_) => None,
        };
        let first = Reason::Limited {
            retry_after: Duration::from_secs(1),
        };
        let mut all: Vec<_> = std::iter::successors(Some(first), next).collect();
        all.extend(refusals(policy).into_iter().map(Reason::Unplanned));
        all
    }

    fn key_faults() -> Vec<KeyFault> {
        let digest = KeyDigest::new(b"tg_0123456789abcdefghij").unwrap();
        let next = move |fault: &KeyFault| match fault {
            KeyFault::Missing => Some(KeyFault::Unknown),
            KeyFault::Unknown => Some(KeyFault::Revoked),
            KeyFault::Revoked => Some(KeyFault::Unanswered(digest)),
            KeyFault::Unanswered(_) => None,
        };
        std::iter::successors(Some(KeyFault::Missing), next).collect()
    }

    fn token_faults() -> Vec<TokenFault> {
        use TokenFault::*;
        let next = |fault: &TokenFault| match fault {
            Missing => Some(Several),
            Several => Some(Malformed),
            Malformed => Some(UnknownIssuer),
            UnknownIssuer => Some(Algorithm),
            Algorithm => Some(UnknownKey),
            UnknownKey => Some(Signature),
            Signature => Some(Audience),
            Audience => Some(NoExpiry),
            NoExpiry => Some(Expired),
            Expired => Some(NotYet),
            NotYet => Some(NoSubject),
            NoSubject => Some(NoKeys),
            NoKeys => None,
        };
        std::iter::successors(Some(Missing), next).collect()
    }

    #[test]
    fn every_reason_is_called_the_same_in_bodies_and_in_the_list() {
        let policy = &crate::fixture::bucket("a", 1, 1000, 1);
        let mut said = BTreeSet::from(["access_denied"]);
        assert_eq!(error(access_denied), "access_denied");
        for refusal in refusals(policy) {
            assert_eq!(error(|out| unplanned(out, &refusal)), refusal.word());
        }
        for fault in key_faults() {
            let places = &[KeyPlace::Cookie("key".to_owned())];
            assert_eq!(
                error(|out| refused_key(out, &KeyRefusal { fault, places })),
                fault.word()
            );
            said.insert(fault.word());
        }
        for fault in token_faults() {
            assert_eq!(error(|out| refused_token(out, fault)), fault.word());
            said.insert(fault.word());
        }
        said.extend(reasons(policy).iter().map(Reason::word));
        assert_eq!(said, ERRORS.iter().copied().collect());
    }

    #[test]
    fn the_manual_lists_every_error() {
        let manual = include_str!("../../../../docs/answers.md");
        for error in ERRORS {
            assert!(manual.contains(&format!("`{error}`")), "{error}");
        }
    }
}
