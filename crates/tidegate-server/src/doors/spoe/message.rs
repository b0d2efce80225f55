//! The request that a message describes.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

use super::data::{Malformed, Reader, Value};

/// The message that is answered. Others are none of ours.
const NAME: &[u8] = b"tidegate-check";

/// The most fields of a request. HAProxy takes 101 unless `tune.http.maxhdr` says otherwise.
pub(crate) const MAX_FIELDS: usize = 1_000;

/// What HAProxy says of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told<'b> {
    method: Option<&'b [u8]>,
    path: Option<&'b [u8]>,
    query: Option<&'b [u8]>,
    host: Option<&'b [u8]>,
    fields: Option<&'b [u8]>,
    body: Option<&'b [u8]>,
    pub(crate) source: Option<IpAddr>,
    pub(crate) is_secure: bool,
}

/// A message that describes no request that can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misasked {
    /// It does not say the method.
    Method,
    /// It does not say the path.
    Target,
    /// The client wrote what no gateway takes.
    Refused(Refused),
}

/// What a client wrote that no gateway takes. HAProxy lets pass what is not decided, so this has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A method or a target that is none.
    Target,
    /// Too many fields.
    Fields,
}

/// The first message of a frame that is ours, if there is one. All of them are read, so that none is answered of a frame that is broken.
pub(crate) fn find(payload: &[u8]) -> Result<Option<Told<'_>>, Malformed> {
    let mut reader = Reader(payload);
    let mut found = None;
    while !reader.is_empty() {
        let is_ours = reader.string()? == NAME;
        let mut told = Told::default();
        for _ in 0..reader.byte()? {
            let (name, value) = (reader.string()?, reader.value()?);
            told.hear(name, value);
        }
        if is_ours {
            found = found.or(Some(told));
        }
    }
    Ok(found)
}

impl<'b> Told<'b> {
    fn hear(&mut self, name: &[u8], value: Value<'b>) {
        let place = match (name, value) {
            (b"src", Value::Address(address)) => {
                self.source = Some(address);
                return;
            }
            (b"src", Value::Bytes(text)) => {
                self.source = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                return;
            }
            (b"ssl", Value::Flag(is_secure)) => {
                self.is_secure = is_secure;
                return;
            }
            (b"method", _) => &mut self.method,
            (b"path", _) => &mut self.path,
            (b"query", _) => &mut self.query,
            (b"host", _) => &mut self.host,
            (b"headers", _) => &mut self.fields,
            (b"body", _) => &mut self.body,
            _ => return,
        };
        if let Value::Bytes(bytes) = value {
            *place = Some(bytes);
        }
    }

    /// The request. Its body is there if HAProxy sent all of it.
    pub(crate) fn request(&self) -> Result<Request<Option<Bytes>>, Misasked> {
        let method = self.method.ok_or(Misasked::Method)?;
        let path = self.path.ok_or(Misasked::Target)?;
        let bad_target = Misasked::Refused(Refused::Target);
        let mut request = Request::new(None);
        *request.method_mut() = Method::from_bytes(method).map_err(|_| bad_target)?;
        *request.uri_mut() = self.target(path).ok_or(bad_target)?.into();
        let fields = self.fields.map_or(Some(HeaderMap::new()), read_fields);
        *request.headers_mut() = fields.ok_or(Misasked::Refused(Refused::Fields))?;
        if let Some(host) = self.host.and_then(|host| HeaderValue::from_bytes(host).ok()) {
            request.headers_mut().insert(HOST, host);
        }
        *request.body_mut() = self.whole_body(request.headers());
        Ok(request)
    }

    /// `path` and query. The path may have the query in it already (`pathq`).
    fn target(&self, path: &[u8]) -> Option<PathAndQuery> {
        if !path.starts_with(b"/") && *path != *b"*" {
            return None;
        }
        let query = self
            .query
            .filter(|query| !query.is_empty() && !path.contains(&b'?'));
        let target = match query {
            Some(query) => PathAndQuery::try_from([path, b"?", query].concat()),
            None => PathAndQuery::try_from(path),
        };
        target.ok()
    }

    /// The body, unless HAProxy cut it: then what a policy would see of it is not what the origin sees.
    fn whole_body(&self, fields: &HeaderMap) -> Option<Bytes> {
        let body = self.body?;
        let length = fields.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<usize>().ok()?;
        (length == body.len()).then(|| Bytes::copy_from_slice(body))
    }
}

/// Fields as HAProxy's `req.hdrs` writes them: a line for each, and an empty one.
fn read_fields(text: &[u8]) -> Option<HeaderMap> {
    let mut fields = HeaderMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) else {
            continue;
        };
        if fields.len() == MAX_FIELDS {
            return None;
        }
        fields.append(name, value);
    }
    Some(fields)
}

#[cfg(test)]
mod tests;
