//! Values of a request by name: query parameters and cookies.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::COOKIE;

/// The values of the query parameter `name`, decoded.
pub(crate) fn query<'q>(query: Option<&'q str>, name: &str) -> impl Iterator<Item = Cow<'q, str>> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(move |(own, _)| own == name)
        .map(|(_, value)| value)
}

/// The values of the cookie `name`, as sent (RFC 6265, section 4.2).
pub(crate) fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h [u8]> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .filter_map(move |pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let (own, value) = (&pair[..equals], &pair[equals + 1..]);
            (own.trim_ascii() == name.as_bytes()).then(|| value.trim_ascii())
        })
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
        assert_eq!(values("a=1&user=x&us%65r=y+z%21&user"), ["x", "y z!", ""]);
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
    fn a_value_sent_twice_or_empty_is_no_value() {
        assert_eq!(only(["a"].iter()), Some(&"a"));
        assert_eq!(only(["a", "a"].iter()), None);
        assert_eq!(only([""].iter()), None);
        assert_eq!(only([""; 0].iter()), None);
    }
}
