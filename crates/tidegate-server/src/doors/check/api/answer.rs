//! What was decided, as JSON.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use serde_json::{Value, json};

use super::fields;
use super::given::{Told, millis};
use crate::pipeline::Admitted;

/// A request that may pass.
pub(super) fn allowed(admitted: &Admitted<'_>, told: Told) -> Value {
    let (mut client, mut origin) = (HeaderMap::new(), HeaderMap::new());
    admitted.mark(&mut client);
    admitted.tell_origin(&mut origin);
    let mut answer = json!({
        "allowed": true,
        "status": 200,
        "client_fields": fields::told(&client),
        "origin_fields": fields::told(&origin),
    });
    add(&mut answer, told);
    answer
}

/// A request that may not: `response` is what its client is to get, for what `error` says.
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
