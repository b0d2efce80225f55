//! What the origin of a request is not to see, for a proxy that keeps the request and is told about it.

use bytes::Bytes;
use http::header::COOKIE;
use http::uri::Uri;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_policy::is_reserved;

use crate::live::Live;

/// What is taken off one request: API keys, and what its client sent under names that are ours.
#[derive(Debug, Default)]
pub(super) struct TakenOff {
    /// These fields go.
    pub(super) fields: Vec<HeaderName>,
    /// These fields stay, with another value.
    pub(super) changed: HeaderMap,
    /// These parameters of the query go, by their names as the client wrote them.
    pub(super) parameters: Vec<Bytes>,
}

impl TakenOff {
    /// What is taken off a request with these `fields`, sent to `uri`, whose origin is told what stands in `for_origin`.
    pub(super) fn of(live: &Live, fields: &HeaderMap, uri: &Uri, for_origin: &HeaderMap) -> Self {
        let lies = fields
            .keys()
            .filter(|name| is_reserved(name) && !for_origin.contains_key(*name));
        let mut taken = Self {
            fields: lies.cloned().collect(),
            ..Self::default()
        };
        if let Some(keys) = &live.identifier.api_keys {
            let (mut left, mut left_uri) = (fields.clone(), uri.clone());
            keys.strip(&mut left, &mut left_uri);
            taken.compare(fields, &left);
            taken.parameters = missing(uri.query(), left_uri.query());
        }
        taken
    }

    fn compare(&mut self, sent: &HeaderMap, left: &HeaderMap) {
        for name in sent.keys() {
            let kept = || left.get_all(name).iter();
            if kept().eq(sent.get_all(name)) {
                continue;
            }
            match joined(name, kept()) {
                Some(line) => _ = self.changed.insert(name, line),
                None => self.fields.push(name.clone()),
            }
        }
    }
}

/// What stands for `values` in one field, since a proxy that is told of several takes the last; None of none.
fn joined<'v>(name: &HeaderName, values: impl Iterator<Item = &'v HeaderValue>) -> Option<HeaderValue> {
    let between: &[u8] = if name == COOKIE { b"; " } else { b", " };
    let values: Vec<&[u8]> = values.map(HeaderValue::as_bytes).collect();
    if values.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&values.join(between)).ok()
}

/// The names of parameters that `sent` has and `left` has not.
fn missing(sent: Option<&str>, left: Option<&str>) -> Vec<Bytes> {
    let left: Vec<&str> = left.unwrap_or_default().split('&').collect();
    let missing = sent
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !left.contains(pair));
    let names = missing.map(|pair| pair.split('=').next().unwrap_or_default());
    names
        .map(|name| Bytes::copy_from_slice(name.as_bytes()))
        .collect()
}
