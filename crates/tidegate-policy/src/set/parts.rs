//! Values of a request by name: query parameters, cookies and credentials.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::COOKIE;
use percent_encoding::percent_decode;

/// The values of the query parameter `name`, decoded. As bytes: not every origin speaks UTF-8, and what it tells apart is
/// told apart here.
pub(crate) fn query<'q>(query: Option<&'q str>, name: &str) -> impl Iterator<Item = Cow<'q, [u8]>> {
    encoded_query(query, name).map(form_decoded)
}

/// The values of the query parameter `name`, as sent.
pub(crate) fn encoded_query<'q>(query: Option<&'q str>, name: &str) -> impl Iterator<Item = &'q [u8]> {
    pairs(query.unwrap_or_default())
        .filter(move |(own, _)| *form_decoded(own) == *name.as_bytes())
        .map(|(_, value)| value)
}

/// The names of all parameters, decoded, each as often as it comes.
pub(crate) fn query_names(query: &str) -> impl Iterator<Item = Cow<'_, [u8]>> {
    pairs(query).map(|(name, _)| form_decoded(name))
}

fn pairs(query: &str) -> impl Iterator<Item = (&[u8], &[u8])> {
    let pairs = query.as_bytes().split(|byte| *byte == b'&');
    pairs.filter(|pair| !pair.is_empty()).map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=');
        equals.map_or((pair, &[][..]), |equals| (&pair[..equals], &pair[equals + 1..]))
    })
}

/// `text` without `%` and `+` (the URL standard, application/x-www-form-urlencoded).
pub(crate) fn form_decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return percent_decode(text).into();
    }
    let blanks: Vec<u8> = text
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    Cow::Owned(percent_decode(&blanks).collect())
}

/// The values of the cookie `name`, as sent, without the quotes that may be around them (RFC 6265, section 4.2).
pub(crate) fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h [u8]> {
    cookie_pairs(headers)
        .filter(move |(own, _)| *own == name.as_bytes())
        .map(|(_, value)| unquoted(value))
}

/// The names of all cookies, each as often as it comes.
pub(crate) fn cookie_names(headers: &HeaderMap) -> impl Iterator<Item = Cow<'_, [u8]>> {
    cookie_pairs(headers).map(|(name, _)| Cow::Borrowed(name))
}

fn cookie_pairs(headers: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .filter_map(cookie_pair)
}

/// Name and value of a cookie.
pub(crate) fn cookie_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
}

/// The same, decoded, as Express, PHP, Rack and others read cookies. Else one session would have as many counters as its
/// name has spellings.
pub(crate) fn decoded_cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = Cow<'h, [u8]>> {
    cookies(headers, name).map(|value| percent_decode(value).into())
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inside @ .., b'"'] => inside,
        bare => bare,
    }
}

/// What follows the scheme of a value of `Authorization`: schemes have no case, and any number of blanks follows them.
pub(crate) fn credentials(value: &[u8]) -> &[u8] {
    let scheme = value
        .iter()
        .take_while(|byte| !byte.is_ascii_whitespace())
        .count();
    match value[scheme..].trim_ascii() {
        b"" => value,
        credentials => credentials,
    }
}

/// The one value of `values`. None if there is none, if it is empty, or if there are several: then nobody knows which of
/// them the origin reads.
pub(crate) fn only<V: AsRef<[u8]>>(mut values: impl Iterator<Item = V>) -> Option<V> {
    let value = values.next()?;
    (values.next().is_none() && !value.as_ref().is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn query_parameters_are_compared_decoded() {
        let values = |text| query(Some(text), "user").map(Cow::into_owned).collect::<Vec<_>>();
        let expected: [&[u8]; 4] = [b"x", b"y z!", b"a=b", b""];
        assert_eq!(values("a=1&user=x&us%65r=y+z%21&user=a=b&&user"), expected);
        assert_eq!(values("user=%ff"), [b"\xff"]);
        assert!(query(None, "user").next().is_none());
    }

    #[test]
    fn cookies_are_found_among_others_and_over_several_lines() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; sid=x;b=2"));
        headers.append(COOKIE, HeaderValue::from_static("xsid=no; sid = y=z ;flag"));
        let values: Vec<_> = cookies(&headers, "sid").collect();
        assert_eq!(values, [b"x".as_slice(), b"y=z"]);
    }

    #[test]
    fn a_cookie_is_the_same_however_it_is_spelt() {
        for spelling in ["sid=a b", "sid=\"a b\"", "sid=a%20b", "sid= %61%20b"] {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_static(spelling));
            let values: Vec<_> = decoded_cookies(&headers, "sid").collect();
            assert_eq!(values, [b"a b".as_slice()], "{spelling}");
        }
    }

    #[test]
    fn credentials_are_the_same_whatever_the_scheme_looks_like() {
        for value in ["Bearer abc", "bearer abc", "BEARER \t abc ", "abc"] {
            assert_eq!(credentials(value.as_bytes()), b"abc", "{value}");
        }
        assert_eq!(credentials(b"Bearer "), b"Bearer ");
    }

    #[test]
    fn a_value_sent_twice_or_empty_is_no_value() {
        assert_eq!(only(["a"].iter()), Some(&"a"));
        assert_eq!(only(["a", "a"].iter()), None);
        assert_eq!(only([""].iter()), None);
        assert_eq!(only([""; 0].iter()), None);
    }
}
