//! How long a call may take.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::HeaderMap;

/// The longest that a call may take which does not say how long it may, or says longer.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Gives `answering` as long as the fields of its call say.
pub(in crate::doors::envoy) async fn in_time<F: Future>(
    allowed: Duration,
    mut answering: Pin<&mut F>,
) -> Option<F::Output> {
    // Most are answered at once, and need no timer.
    let mut context = Context::from_waker(Waker::noop());
    if let Poll::Ready(answer) = answering.as_mut().poll(&mut context) {
        return Some(answer);
    }
    tokio::time::timeout(allowed, answering).await.ok()
}

/// How long the call with these fields may take.
pub(in crate::doors::envoy) fn time_allowed(fields: &HeaderMap) -> Duration {
    let said = fields
        .get("grpc-timeout")
        .and_then(|value| timeout(value.as_bytes()));
    said.unwrap_or(MOST_TIME).min(MOST_TIME)
}

/// `20m`, twenty milliseconds: up to eight digits and a unit.
fn timeout(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(number * 3600)),
        b'M' => Some(Duration::from_secs(number * 60)),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn allowed(said: &'static str) -> Duration {
        let mut fields = HeaderMap::new();
        fields.insert("grpc-timeout", HeaderValue::from_static(said));
        time_allowed(&fields)
    }

    #[test]
    fn a_call_says_how_long_it_may_take() {
        for (said, meant) in [
            ("20m", Duration::from_millis(20)),
            ("1S", Duration::from_secs(1)),
            ("99999999u", Duration::from_secs(60)),
            ("5000000n", Duration::from_millis(5)),
            ("250u", Duration::from_micros(250)),
            ("99999999H", MOST_TIME),
            ("2M", MOST_TIME),
            ("0m", Duration::ZERO),
        ] {
            assert_eq!(allowed(said), meant, "{said}");
        }
        assert_eq!(time_allowed(&HeaderMap::new()), MOST_TIME);
    }

    #[test]
    fn what_is_no_time_is_not_heard() {
        for said in ["", "m", "20", "-1m", "1.5S", "20 m", "123456789m", "20x", "+1S"] {
            assert_eq!(allowed(said), MOST_TIME, "{said}");
        }
    }
}
