//! Header fields that end here, and the few that are put together anew.

mod forwarded;

use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE, VIA,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use smallvec::SmallVec;
use tidegate_policy::is_reserved;

pub(crate) use forwarded::{Claims, Origin, set_forwarded};

/// The upgrade that a message asks for or agrees to.
pub(crate) type Upgrade = Option<HeaderValue>;

/// Takes every hop-by-hop field off a request (RFC 9110 section 7.6.1): those that `Connection` lists, and those that are
/// hop-by-hop by definition. `Upgrade` is handed back if it is one that can be forwarded; `TE: trailers` stays, listed anew.
pub(crate) fn strip_request(headers: &mut HeaderMap) -> Upgrade {
    let upgrade = asked_upgrade(headers);
    let wants_trailers = headers
        .get_all(TE)
        .iter()
        .any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case("trailers")));
    strip(headers);
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    upgrade
}

/// Takes every hop-by-hop field off a response. `Upgrade` is handed back if the response is the switch of protocols.
pub(crate) fn strip_response(status: StatusCode, headers: &mut HeaderMap) -> Upgrade {
    let upgrade = (status == StatusCode::SWITCHING_PROTOCOLS).then(|| headers.get(UPGRADE).cloned());
    strip(headers);
    upgrade.flatten()
}

/// Puts an upgrade back, for the next hop.
pub(crate) fn set_upgrade(headers: &mut HeaderMap, upgrade: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, upgrade);
}

/// Takes off trailers what only a head may say, since some readers add them to the fields of the head: who asked, what was
/// decided, and what is hop-by-hop. No peer is trusted with these.
pub(crate) fn strip_trailers(trailers: &mut HeaderMap) {
    let found: SmallVec<[HeaderName; 4]> = trailers
        .keys()
        .filter(|name| {
            is_hop_by_hop(name) || forwarded::is_claim(name) || is_reserved(name) || *name == COOKIE
        })
        .cloned()
        .collect();
    for name in found {
        trailers.remove(name);
    }
}

fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        strip_listed(headers);
    }
    let found: SmallVec<[HeaderName; 4]> = headers
        .keys()
        .filter(|name| is_hop_by_hop(name))
        .cloned()
        .collect();
    for name in found {
        headers.remove(name);
    }
}

fn strip_listed(headers: &mut HeaderMap) {
    let listed: SmallVec<[HeaderName; 4]> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(tokens)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .filter(|name| *name != HOST && *name != CONTENT_LENGTH)
        .collect();
    for name in listed {
        headers.remove(name);
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    match *name {
        CONNECTION | TRANSFER_ENCODING | UPGRADE | TE | PROXY_AUTHENTICATE | PROXY_AUTHORIZATION => true,
        _ => matches!(
            name.as_str(),
            "keep-alive" | "proxy-connection" | "http2-settings"
        ),
    }
}

/// The members of a comma-separated list; a value that is not visible ASCII has none.
fn tokens(value: &HeaderValue) -> impl Iterator<Item = &str> {
    let text = value.to_str().unwrap_or_default();
    text.split(',').map(str::trim).filter(|token| !token.is_empty())
}

/// `Upgrade`, if `Connection` lists it and it asks for no other version of HTTP: an upgrade to h2c would open a channel on
/// which nobody looks at requests any more.
fn asked_upgrade(headers: &HeaderMap) -> Upgrade {
    let value = headers.get(UPGRADE)?;
    let listed = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(tokens)
        .any(|token| token.eq_ignore_ascii_case("upgrade"));
    let alone = headers.get_all(UPGRADE).iter().count() == 1;
    let lower = value.to_str().ok()?.to_ascii_lowercase();
    let other_http = lower
        .split(',')
        .map(str::trim)
        .any(|name| name.starts_with("h2c") || name.starts_with("http/"));
    (listed && alone && !other_http).then(|| value.clone())
}

/// Adds `pseudonym` to `Via`.
pub(crate) fn add_via(headers: &mut HeaderMap, pseudonym: &HeaderValue) {
    let chain = appended(headers, &VIA, pseudonym);
    headers.insert(VIA, chain);
}

/// All lines of a list field and one more member, as one line.
fn appended(headers: &HeaderMap, name: &HeaderName, last: &HeaderValue) -> HeaderValue {
    joined(headers.get_all(name).iter().chain([last]), b", ").unwrap_or_else(|| last.clone())
}

/// HTTP/2 may split `Cookie` over many fields; HTTP/1.1 may not (RFC 9113 section 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    if headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    if let Some(cookies) = joined(headers.get_all(COOKIE).iter(), b"; ") {
        headers.insert(COOKIE, cookies);
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a HeaderValue>, separator: &[u8]) -> Option<HeaderValue> {
    let mut all = Vec::new();
    for value in values {
        if !all.is_empty() {
            all.extend_from_slice(separator);
        }
        all.extend_from_slice(value.as_bytes());
    }
    HeaderValue::from_bytes(&all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn hop_by_hop_fields_and_those_that_connection_lists_end_here() {
        let mut headers = map(&[
            ("connection", "close, X-Secret"),
            ("connection", "x-other"),
            ("x-secret", "1"),
            ("x-other", "2"),
            ("keep-alive", "5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic eA=="),
            ("te", "gzip"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("http2-settings", "AAAA"),
            ("accept", "*/*"),
        ]);
        assert_eq!(strip_request(&mut headers), None);
        assert_eq!(headers, map(&[("accept", "*/*")]));
    }

    #[test]
    fn connection_cannot_take_host_or_the_body_length_away() {
        let mut headers = map(&[
            ("connection", "host, content-length"),
            ("host", "a"),
            ("content-length", "3"),
        ]);
        strip_request(&mut headers);
        assert_eq!(headers, map(&[("host", "a"), ("content-length", "3")]));
    }

    #[test]
    fn te_keeps_only_trailers() {
        let mut headers = map(&[("te", "gzip, Trailers"), ("connection", "te")]);
        strip_request(&mut headers);
        assert_eq!(headers, map(&[("te", "trailers"), ("connection", "te")]));
    }

    #[test]
    fn an_upgrade_goes_on_only_if_connection_lists_it_and_it_is_not_http() {
        let asked = |fields| strip_request(&mut map(fields));
        assert_eq!(
            asked(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]),
            Some(HeaderValue::from_static("websocket"))
        );
        assert_eq!(asked(&[("upgrade", "websocket")]), None);
        assert_eq!(
            asked(&[("connection", "upgrade, http2-settings"), ("upgrade", "h2c")]),
            None
        );
        assert_eq!(
            asked(&[("connection", "upgrade"), ("upgrade", "websocket, H2C")]),
            None
        );
        assert_eq!(asked(&[("connection", "upgrade"), ("upgrade", "HTTP/2.0")]), None);
    }

    #[test]
    fn split_cookies_become_one_field() {
        let mut headers = map(&[("cookie", "a=1"), ("cookie", "b=2")]);
        join_cookies(&mut headers);
        assert_eq!(headers, map(&[("cookie", "a=1; b=2")]));
    }
}
