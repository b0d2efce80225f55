//! What clients are told of a limit, ready-made at load.

use std::time::Duration;

use http::HeaderValue;
use tidegate_core::{Algorithm, CalendarUnit, Limit};

use super::number;

/// The texts of one limit that do not change from request to request.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// `X-RateLimit-Limit`: what a client finds when nothing is spent.
    pub(super) capacity: HeaderValue,
    /// Its item of `RateLimit-Policy`, draft -11: `"api";q=60;w=60`.
    pub(super) policy_11: HeaderValue,
    /// Its item of `RateLimit-Policy`, draft -07: `60;w=60`. None for concurrency, which that draft cannot express.
    pub(super) policy_07: Option<HeaderValue>,
    /// The beginning of its item of `RateLimit`, draft -11: `"api";r=`.
    pub(super) item_11: Box<[u8]>,
    /// `RateLimit`'s first member, draft -07: `limit=10, remaining=`.
    pub(super) item_07: Box<[u8]>,
    /// Its name as text inside a JSON string.
    pub(super) json_name: Box<[u8]>,
    /// The longest wait of an empty token bucket for its next unit.
    pub(super) next_unit: Option<Duration>,
    /// Whether it counts requests at one time, not per time.
    pub(super) is_concurrency: bool,
}

impl Told {
    /// The texts of the limit called `label`.
    pub(crate) fn new(label: &str, limit: &Limit) -> Self {
        let window_secs = window_secs(limit);
        Self {
            capacity: HeaderValue::from(limit.capacity()),
            policy_11: value(policy_11(label, limit, window_secs)),
            policy_07: window_secs.map(|secs| value(policy_07(limit, secs))),
            item_11: [&sf_string(label)[..], b";r="].concat().into(),
            item_07: item_07(limit).into(),
            json_name: json_text(label).into(),
            next_unit: next_unit(limit),
            is_concurrency: limit.algorithm() == Algorithm::Concurrency,
        }
    }
}

fn policy_11(label: &str, limit: &Limit, window_secs: Option<u64>) -> Vec<u8> {
    let mut out = sf_string(label);
    out.extend_from_slice(b";q=");
    number::push_sf(&mut out, limit.quota());
    match window_secs {
        Some(secs) => {
            out.extend_from_slice(b";w=");
            number::push_sf(&mut out, secs);
        }
        None => out.extend_from_slice(b";qu=\"concurrent-requests\""),
    }
    if limit.capacity() != limit.quota() {
        out.extend_from_slice(b";tidegate-burst=");
        number::push_sf(&mut out, limit.capacity());
    }
    out
}

fn policy_07(limit: &Limit, window_secs: u64) -> Vec<u8> {
    let mut out = Vec::new();
    number::push_sf(&mut out, limit.quota());
    out.extend_from_slice(b";w=");
    number::push_sf(&mut out, window_secs);
    if limit.capacity() != limit.quota() {
        out.extend_from_slice(b";burst=");
        number::push_sf(&mut out, limit.capacity());
    }
    out
}

fn item_07(limit: &Limit) -> Vec<u8> {
    let mut out = b"limit=".to_vec();
    number::push_sf(&mut out, limit.capacity());
    out.extend_from_slice(b", remaining=");
    out
}

/// The window in whole seconds, rounded up, so that nobody who believes it is refused; the longest of its kind for a calendar
/// window (daylight saving time left aside). None for concurrency.
fn window_secs(limit: &Limit) -> Option<u64> {
    const DAY: u64 = 86_400;
    if let Some((unit, _)) = limit.calendar() {
        return Some(match unit {
            CalendarUnit::Day => DAY,
            CalendarUnit::Week => 7 * DAY,
            CalendarUnit::Month => 31 * DAY,
        });
    }
    limit.window().map(number::wait_secs)
}

/// How long an empty token bucket takes to hold one unit, rounded up to nanoseconds.
fn next_unit(limit: &Limit) -> Option<Duration> {
    let (Algorithm::TokenBucket, Some(window)) = (limit.algorithm(), limit.window()) else {
        return None;
    };
    let nanos = window.as_nanos().div_ceil(u128::from(limit.quota()));
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// `text` as a String of a structured field (RFC 9651, 3.3.3). Characters that it cannot hold become `?`.
fn sf_string(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            ' '..='~' => out.extend(u8::try_from(character)),
            _ => out.push(b'?'),
        }
    }
    out.push(b'"');
    out
}

/// `text` as it stands inside a string of JSON.
pub(super) fn json_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\0'..='\x1f' | '\x7f' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes())
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// The text as a header value. It is printable ASCII by construction; if it were not, the value would be empty.
fn value(text: Vec<u8>) -> HeaderValue {
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text)).unwrap_or(HeaderValue::from_static(""))
}
