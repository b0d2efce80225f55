//! What was decided, as JSON.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use serde_json::{Value, json};

use super::fields;
use super::given::{Told, millis};

/// What may pass, and the fields for its client and, if there is one, its origin.
pub(super) fn allowed(client: &HeaderMap, origin: Option<&HeaderMap>, told: Told) -> Value {
    let mut answer = json!({
        "allowed": true,
        "status": 200,
        "client_fields": fields::told(client),
    });
    if let Some(origin) = origin {
        answer["origin_fields"] = fields::told(origin);
    }
    add(&mut answer, told);
    answer
}

/// What may not: `response` is what its client is to get, for what `error` says.
pub(super) fn refused(response: &Response<Bytes>, error: Option<&'static str>, told: Told) -> Value {
    let mut answer = json!({
        "allowed": false,
        "status": response.status().as_u16(),
        "error": told.error.or(error),
        "client_fields": fields::told(response.headers()),
    });
    // What is no text, a picture in one's own words perhaps, is left out.
    if response.headers().contains_key(CONTENT_TYPE)
        && let Ok(text) = std::str::from_utf8(response.body())
    {
        answer["body"] = text.into();
    }
    add(&mut answer, told);
    answer
}

fn add(answer: &mut Value, told: Told) {
    answer["limits"] = told.limits.into();
    if let Some(wait) = told.retry_after {
        answer["retry_after_ms"] = millis(wait).into();
    }
    if let Some(wait) = told.delay {
        answer["delayed_ms"] = millis(wait).into();
    }
    if let Some(failure) = told.failure {
        answer["failure"] = failure.into();
    }
}
