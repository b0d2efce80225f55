//! Numbers as header fields carry them.

use std::time::Duration;

/// The largest integer of a structured field (RFC 9651, 3.3.1): 15 digits.
const MAX_SF_INTEGER: u64 = 999_999_999_999_999;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Writes `number` in decimal.
pub(super) fn push(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes `number` as an integer of a structured field. Larger ones become the largest there is: less than the truth, so
/// that a client that believes it is never refused.
pub(super) fn push_sf(out: &mut Vec<u8>, number: u64) {
    push(out, number.min(MAX_SF_INTEGER));
}

/// Whole seconds of a time in nanoseconds, rounded up.
pub(super) const fn secs_up(nanos: u64) -> u64 {
    nanos.div_ceil(NANOS_PER_SEC)
}

/// A span in whole seconds, rounded up and at least 1.
pub(super) fn wait_secs(span: Duration) -> u64 {
    let part = u64::from(span.subsec_nanos() > 0);
    span.as_secs().saturating_add(part).max(1)
}
