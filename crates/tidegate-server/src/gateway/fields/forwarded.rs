//! What the origin is told about who asked.

use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;
use tidegate_policy::{ForwardedField, is_spelling};

use super::appended;

/// What a connection's requests say about where they came from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The socket's peer, without its port.
    pub(crate) peer: HeaderValue,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
}

/// What becomes of what the peer says about who came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// It is believed and carried on.
    Believed,
    /// It is taken off.
    Refused,
}

const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Tells the upstream who asked, in `field`: `X-Forwarded-For` with `-Proto` and `-Host`, or `Forwarded`. A trusted peer's are
/// kept and its address is appended; anybody else's are replaced, and the other fields that name a client are taken off. The one
/// that was not chosen is taken off a trusted peer's requests, too: it passes what clients forge there.
pub(crate) fn set_forwarded(headers: &mut HeaderMap, origin: &Origin, claims: Claims, field: ForwardedField) {
    strip_claims(headers, claims);
    match field {
        ForwardedField::XForwardedFor => {
            headers.remove(FORWARDED);
            set_x_forwarded(headers, origin, claims);
        }
        ForwardedField::Forwarded => {
            headers.remove(X_FORWARDED_FOR);
            add_forwarded(headers, origin);
        }
    }
}

fn set_x_forwarded(headers: &mut HeaderMap, origin: &Origin, claims: Claims) {
    let believed = claims == Claims::Believed;
    if believed {
        let chain = appended(headers, &X_FORWARDED_FOR, &origin.peer);
        headers.insert(X_FORWARDED_FOR, chain);
    } else {
        headers.insert(X_FORWARDED_FOR, origin.peer.clone());
    }
    if !(believed && headers.contains_key(X_FORWARDED_PROTO)) {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(origin.scheme));
    }
    if !(believed && headers.contains_key(X_FORWARDED_HOST))
        && let Some(host) = headers.get(HOST).cloned()
    {
        headers.insert(X_FORWARDED_HOST, host);
    }
}

/// Appends an element of RFC 7239: `for=192.0.2.7;host="a.test";proto=http`. What nobody is believed about is gone already.
fn add_forwarded(headers: &mut HeaderMap, origin: &Origin) {
    let mut element = b"for=".to_vec();
    let peer = origin.peer.as_bytes();
    if peer.contains(&b':') {
        element.extend_from_slice(&[b"\"[", peer, b"]\""].concat());
    } else {
        element.extend_from_slice(peer);
    }
    if let Some(host) = headers.get(HOST).map(HeaderValue::as_bytes)
        && !host.iter().any(|byte| matches!(byte, b'"' | b'\\'))
    {
        element.extend_from_slice(&[b";host=\"", host, b"\""].concat());
    }
    element.extend_from_slice(b";proto=");
    element.extend_from_slice(origin.scheme.as_bytes());
    if let Ok(element) = HeaderValue::from_bytes(&element) {
        let chain = appended(headers, &FORWARDED, &element);
        headers.insert(FORWARDED, chain);
    }
}

/// Takes off what names a client. From a trusted peer only the spellings that it did not write itself: CGI and its kin read
/// `x_forwarded_for`, some of them `x.forwarded.for` too, as `X-Forwarded-For`.
fn strip_claims(headers: &mut HeaderMap, claims: Claims) {
    let names: SmallVec<[HeaderName; 4]> = headers
        .keys()
        .filter(|name| is_claim(name) && (claims == Claims::Refused || !is_plain(name)))
        .cloned()
        .collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a field says who asked.
pub(super) fn is_claim(name: &HeaderName) -> bool {
    let text = name.as_str();
    // Most names are none, and say so with their first letter.
    matches!(text.as_bytes(), [b'x' | b'c' | b't' | b'f', ..])
        && (CLAIMS.iter().any(|claim| is_spelling(text, claim))
            || text
                .get(..X_FORWARDED.len())
                .is_some_and(|start| is_spelling(start, X_FORWARDED)))
}

/// Whether each mark in `name` is a hyphen.
fn is_plain(name: &HeaderName) -> bool {
    name.as_str()
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_alphanumeric())
}

/// How the fields begin by which proxies tell what they saw: address, scheme, host, port, path prefix, certificate.
const X_FORWARDED: &str = "x-forwarded-";

/// Fields by which proxies and networks of proxies name the client, or the target that they rewrote: an origin that believes one of
/// those would serve a path that no policy has seen.
const CLAIMS: [&str; 15] = [
    "forwarded",
    "forwarded-for",
    "x-forwarded",
    "x-original-forwarded-for",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "true-client-ip",
    "fastly-client-ip",
    "x-original-url",
    "x-rewrite-url",
    "x-original-host",
];

#[cfg(test)]
mod tests {
    use super::super::tests::map;
    use super::*;

    fn origin() -> Origin {
        Origin {
            peer: HeaderValue::from_static("192.0.2.7"),
            scheme: "http",
        }
    }

    #[test]
    fn a_stranger_s_claims_about_who_asks_are_replaced_in_every_spelling() {
        let mut headers = map(&[
            ("host", "a.test"),
            ("x-forwarded-for", "1.1.1.1"),
            ("x_forwarded_for", "1.1.1.1"),
            ("x-forwarded_for", "1.1.1.1"),
            ("x.forwarded.for", "1.1.1.1"),
            ("x-forwarded-scheme", "https"),
            ("x_forwarded-ssl", "on"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "b.test"),
            ("forwarded", "for=1.1.1.1"),
            ("x-real-ip", "1.1.1.1"),
            ("cf-connecting-ip", "1.1.1.1"),
            ("x-original-url", "/login"),
            ("x_rewrite_url", "/login"),
            ("x-forwarder", "stays"),
        ]);
        set_forwarded(
            &mut headers,
            &origin(),
            Claims::Refused,
            ForwardedField::XForwardedFor,
        );
        let told = map(&[
            ("host", "a.test"),
            ("x-forwarder", "stays"),
            ("x-forwarded-for", "192.0.2.7"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "a.test"),
        ]);
        assert_eq!(headers, told);
    }

    #[test]
    fn a_trusted_peer_s_claims_are_kept_and_it_is_appended_after_all_lines() {
        let mut headers = map(&[
            ("host", "a.test"),
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-for", "2.2.2.2"),
            ("x_forwarded_for", "3.3.3.3"),
            ("x-forwarded-proto", "https"),
        ]);
        set_forwarded(
            &mut headers,
            &origin(),
            Claims::Believed,
            ForwardedField::XForwardedFor,
        );
        assert!(!headers.contains_key("x_forwarded_for"));
        assert_eq!(headers["x-forwarded-for"], "1.1.1.1, 2.2.2.2, 192.0.2.7");
        assert_eq!(headers.get_all("x-forwarded-for").iter().count(), 1);
        assert_eq!(headers["x-forwarded-proto"], "https");
        assert_eq!(headers["x-forwarded-host"], "a.test");
    }

    #[test]
    fn the_field_that_was_not_chosen_is_taken_off_a_trusted_peer_s_requests() {
        let both = [
            ("host", "a.test"),
            ("x-forwarded-for", "1.1.1.1"),
            ("forwarded", "for=2.2.2.2"),
        ];
        let mut headers = map(&both);
        set_forwarded(
            &mut headers,
            &origin(),
            Claims::Believed,
            ForwardedField::XForwardedFor,
        );
        assert!(!headers.contains_key("forwarded"));
        let mut headers = map(&both);
        set_forwarded(
            &mut headers,
            &origin(),
            Claims::Believed,
            ForwardedField::Forwarded,
        );
        assert!(!headers.contains_key("x-forwarded-for"));
        assert_eq!(
            headers["forwarded"],
            "for=2.2.2.2, for=192.0.2.7;host=\"a.test\";proto=http"
        );
    }

    #[test]
    fn a_stranger_s_forwarded_is_replaced_and_ipv6_is_quoted() {
        let mut headers = map(&[
            ("host", "a.test:81"),
            ("forwarded", "for=1.1.1.1"),
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-proto", "https"),
        ]);
        let stranger = Origin {
            peer: HeaderValue::from_static("2001:db8::1"),
            scheme: "https",
        };
        set_forwarded(
            &mut headers,
            &stranger,
            Claims::Refused,
            ForwardedField::Forwarded,
        );
        let told = map(&[
            ("host", "a.test:81"),
            (
                "forwarded",
                "for=\"[2001:db8::1]\";host=\"a.test:81\";proto=https",
            ),
        ]);
        assert_eq!(headers, told);
    }
}
