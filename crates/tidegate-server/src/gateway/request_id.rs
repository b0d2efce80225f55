//! The name of a request, in `X-Request-Id`: the same for the client, the origin and the logs.

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is taken from a client, in bytes.
const MOST_BYTES: usize = 128;

/// The request's own id, if it has one that is fit; else a new one of `random` numbers, which the request then has.
pub(crate) fn settle(headers: &mut HeaderMap, random: impl FnMut() -> u64) -> HeaderValue {
    let mut ids = headers.get_all(X_REQUEST_ID).iter();
    if let (Some(id), None) = (ids.next(), ids.next())
        && is_fit(id)
    {
        return id.clone();
    }
    let id = new(random);
    headers.insert(X_REQUEST_ID, id.clone());
    id
}

/// Visible ASCII, not empty, and not longer than one would write.
fn is_fit(id: &HeaderValue) -> bool {
    let id = id.as_bytes();
    (1..=MOST_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// 32 hexadecimal digits.
fn new(mut random: impl FnMut() -> u64) -> HeaderValue {
    let number = (u128::from(random()) << 64) | u128::from(random());
    let mut digits = [0; 32];
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        // Four bits are one of sixteen digits.
        *digit = b"0123456789abcdef"[(number >> (4 * place)) as usize & 0xf];
    }
    // Digits are fit for a field; the other branch is for the types alone.
    HeaderValue::from_bytes(&digits).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(sent: &[&str]) -> (HeaderValue, HeaderMap) {
        let mut headers = HeaderMap::new();
        for id in sent {
            headers.append(X_REQUEST_ID, HeaderValue::from_str(id).unwrap());
        }
        let id = settle(&mut headers, || 0x0123_4567_89ab_cdef);
        assert_eq!(headers.get_all(X_REQUEST_ID).iter().count(), 1);
        assert_eq!(headers[X_REQUEST_ID], id);
        (id, headers)
    }

    const NEW: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_fit_id_is_kept_and_any_other_replaced() {
        let longest = "x".repeat(MOST_BYTES);
        assert_eq!(settled(&["abc-123"]).0, "abc-123");
        assert_eq!(settled(&[&longest]).0, longest);
        for unfit in [
            &[][..],
            &[""],
            &["a b"],
            &["a\tb"],
            &["a", "b"],
            &[&format!("{longest}x")],
        ] {
            assert_eq!(settled(unfit).0, NEW, "{unfit:?}");
        }
    }
}
