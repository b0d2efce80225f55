//! Taking the key off a request before the origin gets it.

use http::header::COOKIE;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::ApiKeys;
use super::credential::credential_in;
use crate::KeyPlace;
use crate::identity::token::is_shaped_as_token;
use crate::set::parts;

impl ApiKeys {
    /// Takes what stands in the places of keys off a request, if the settings say so. What is a token stays.
    pub fn strip(&self, headers: &mut HeaderMap, uri: &mut Uri) {
        if !self.settings.strip {
            return;
        }
        for place in &self.settings.places {
            match place {
                KeyPlace::Header(name) => self.strip_header(headers, name),
                KeyPlace::Cookie(name) => self.strip_cookie(headers, name),
                KeyPlace::Query(name) => strip_query(uri, name),
            }
        }
    }

    fn is_ours(&self, value: &[u8]) -> bool {
        !(self.settings.beside_tokens && is_shaped_as_token(value.trim_ascii()))
    }

    fn strip_header(&self, headers: &mut HeaderMap, name: &HeaderName) {
        let is_kept = |value: &&HeaderValue| {
            credential_in(name, value.as_bytes()).is_none_or(|credential| !self.is_ours(credential))
        };
        let kept: Vec<HeaderValue> = headers.get_all(name).iter().filter(is_kept).cloned().collect();
        headers.remove(name);
        for value in kept {
            headers.append(name, value);
        }
    }

    fn strip_cookie(&self, headers: &mut HeaderMap, name: &str) {
        if !parts::cookies(headers, name).any(|value| self.is_ours(value)) {
            return;
        }
        let is_kept = |pair: &&[u8]| {
            parts::cookie_pair(pair).is_none_or(|(own, value)| own != name.as_bytes() || !self.is_ours(value))
        };
        let lines: Vec<HeaderValue> = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|line| {
                let pairs = line.as_bytes().split(|byte| *byte == b';').filter(is_kept);
                let line = pairs.collect::<Vec<_>>().join(&b';');
                HeaderValue::from_bytes(line.trim_ascii()).ok()
            })
            .filter(|line| !line.is_empty())
            .collect();
        headers.remove(COOKIE);
        for line in lines {
            headers.append(COOKIE, line);
        }
    }
}

/// What cannot be put together again stays as it was, which has not been seen.
fn strip_query(uri: &mut Uri, name: &str) {
    let Some(query) = uri.query() else {
        return;
    };
    if parts::encoded_query(Some(query), name).next().is_none() {
        return;
    }
    let is_kept = |pair: &&str| {
        let own = pair.split('=').next().unwrap_or_default();
        *parts::form_decoded(own.as_bytes()) != *name.as_bytes()
    };
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    let target = match kept.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), kept.join("&")),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    if let Ok(stripped) = Uri::from_parts(parts) {
        *uri = stripped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiKeySettings, Keyring, Treatment};

    /// What is left of a request whose key may be in all places.
    fn left(header: &str, fields: &[(&str, &str)], uri: &str, beside_tokens: bool) -> (Vec<String>, String) {
        let keys = ApiKeys {
            settings: ApiKeySettings {
                places: vec![
                    KeyPlace::Header(HeaderName::from_bytes(header.as_bytes()).unwrap()),
                    KeyPlace::Query("key".to_owned()),
                    KeyPlace::Cookie("key".to_owned()),
                ],
                beside_tokens,
                keys: None,
                stored: None,
                strip: true,
                on_missing: Treatment::Anonymous,
                on_unknown: Treatment::Reject,
                on_revoked: Treatment::Reject,
            },
            keyring: Keyring::default(),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let mut uri = uri.parse().unwrap();
        keys.strip(&mut headers, &mut uri);
        let lines = headers.iter();
        let lines = lines.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        (lines.collect(), uri.to_string())
    }

    #[test]
    fn every_place_of_a_key_is_emptied_and_all_else_stays() {
        let fields = [
            ("x-api-key", "one"),
            ("x-api-key", "two"),
            ("x-other", "three"),
            ("cookie", "a=1; key=four;b=2"),
            ("cookie", "key=\"five\""),
            ("cookie", "keys=6; flag"),
        ];
        let (lines, uri) = left("x-api-key", &fields, "/p?a=1&key=x&k%65y=y&key&b=%20+", false);
        assert_eq!(
            lines,
            ["x-other: three", "cookie: a=1;b=2", "cookie: keys=6; flag"]
        );
        assert_eq!(uri, "/p?a=1&b=%20+");
        let (lines, uri) = left("x-api-key", &[], "http://a.test/p?key=x", false);
        assert_eq!((lines.len(), uri.as_str()), (0, "http://a.test/p"));
        assert_eq!(left("x-api-key", &[], "/p?a&&b", false).1, "/p?a&&b");
    }

    #[test]
    fn of_authorization_only_keys_go() {
        let basic = [("authorization", "Basic eDp5"), ("authorization", "bearer abc")];
        let (lines, _) = left("authorization", &basic, "/", false);
        assert_eq!(lines, ["authorization: Basic eDp5"]);
        let token = [("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.")];
        assert_eq!(left("authorization", &token, "/", true).0.len(), 1);
        assert_eq!(left("authorization", &token, "/", false).0.len(), 0);
    }
}
