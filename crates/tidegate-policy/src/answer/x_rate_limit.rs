//! `X-RateLimit-Limit`, `-Remaining` and `-Reset`: the limit with the least left.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_core::Timestamp;

use super::number;
use super::pad::{Pad, Span};
use crate::Reading;

pub(super) const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub(super) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
pub(super) const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The values of the three fields; those that change are on the pad.
pub(super) struct Values<'a> {
    limit: &'a HeaderValue,
    left: u64,
    remaining: Span,
    reset: Span,
}

/// When everything can be spent again, in seconds since 1970.
pub(super) fn reset_secs(deciding: &Reading<'_>, now: Timestamp) -> u64 {
    let full_at = now.saturating_add(deciding.decision.reset_after);
    number::secs_up(full_at.as_nanos())
}

impl<'a> Values<'a> {
    pub(super) fn write(pad: &mut Pad, deciding: &Reading<'a>, now: Timestamp) -> Self {
        let left = deciding.decision.remaining;
        Self {
            limit: &deciding.source.limit.told.capacity,
            left,
            remaining: pad.note(|out| number::push(out, left)),
            reset: pad.note(|out| number::push(out, reset_secs(deciding, now))),
        }
    }

    /// Sets the fields, whatever there was.
    pub(super) fn set(&self, pad: &Bytes, fields: &mut HeaderMap) {
        let [limit, remaining, reset] = self.values(pad);
        fields.insert(LIMIT, limit);
        fields.insert(REMAINING, remaining);
        fields.insert(RESET, reset);
    }

    /// The values of limit, remaining and reset.
    pub(super) fn values(&self, pad: &Bytes) -> [HeaderValue; 3] {
        [
            self.limit.clone(),
            self.remaining.value(pad),
            self.reset.value(pad),
        ]
    }

    /// Sets the fields, unless those of the origin leave less.
    pub(super) fn merge(&self, pad: &Bytes, fields: &mut HeaderMap) {
        let theirs = fields
            .get(REMAINING)
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if theirs.is_none_or(|theirs| theirs >= self.left) {
            self.set(pad, fields);
        }
    }
}
