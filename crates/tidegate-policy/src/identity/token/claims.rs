//! What a token claims, and whether it holds here and now.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use tidegate_core::Timestamp;

use super::TokenFault;
use crate::{Claims, JwtIssuer};

/// The longest subject or tier that a token may name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The name of a claim: `sub`, or `realm_access.plan` for one inside another. A claim that has the whole text as its name, dots
/// included, comes first: `https://example.com/plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath {
    text: Box<str>,
}

impl ClaimPath {
    /// The claim called `text`; none if `text` or a piece between its dots is empty.
    pub fn new(text: &str) -> Option<Self> {
        let has_empty = text.split('.').any(str::is_empty);
        (!has_empty).then(|| Self { text: text.into() })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What `claims` say under this name.
    pub fn of<'c>(&self, claims: &'c Claims) -> Option<&'c Value> {
        if let Some(value) = claims.get(&*self.text) {
            return Some(value);
        }
        let (first, rest) = self.text.split_once('.')?;
        let start = claims.get(first)?;
        rest.split('.').try_fold(start, |value, name| value.get(name))
    }

    /// The same as a name: a text on one line, or a number.
    pub(super) fn name<'c>(&self, claims: &'c Claims) -> Option<Cow<'c, str>> {
        let name = match self.of(claims)? {
            Value::Bool(_) => None,
            value => text_of(value),
        }?;
        (name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control)).then_some(name)
    }
}

/// `value` as a text: a text that is not empty, a number, or `true` or `false`. Lists and objects have none.
pub(crate) fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) if !text.is_empty() => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Who issued the token, as it says.
pub(super) fn issuer(claims: &Claims) -> Option<&str> {
    claims.get("iss").and_then(Value::as_str)
}

/// Until when `claims` hold, if they were made for us and hold now.
pub(super) fn holds(claims: &Claims, rules: &JwtIssuer, now: Timestamp) -> Result<Timestamp, TokenFault> {
    if !is_for(claims.get("aud"), &rules.audiences) {
        return Err(TokenFault::Audience);
    }
    let leeway = nanos(rules.leeway);
    let expiry = claims.get("exp").ok_or(TokenFault::NoExpiry)?;
    let until = date(expiry).ok_or(TokenFault::NoExpiry)?.saturating_add(leeway);
    if now.as_nanos() >= until {
        return Err(TokenFault::Expired);
    }
    if let Some(begin) = claims.get("nbf") {
        let begin = date(begin).ok_or(TokenFault::Malformed)?;
        if now.as_nanos().saturating_add(leeway) < begin {
            return Err(TokenFault::NotYet);
        }
    }
    Ok(Timestamp::from_nanos(until))
}

/// Whether `aud` names one of `ours`.
fn is_for(aud: Option<&Value>, ours: &[String]) -> bool {
    let is_ours = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| ours.iter().any(|own| own == text))
    };
    match aud {
        Some(Value::Array(several)) => several.iter().any(is_ours),
        Some(one) => is_ours(one),
        None => false,
    }
}

/// A NumericDate (RFC 7519 section 2), which may have a fraction, in nanoseconds. Those beyond our time are its end.
fn date(value: &Value) -> Option<u64> {
    if let Some(seconds) = value.as_u64() {
        return Some(seconds.saturating_mul(1_000_000_000));
    }
    let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).map_or(u64::MAX, nanos))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
