//! How each proxy describes the request that it asks about, and what it makes of the answer.

use http::header::HOST;
use http::request::Parts;
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, Method, Request};

use super::Misasked;

/// How one kind of proxy asks.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The path that is asked.
    path: &'static str,
    method: HeaderName,
    target: HeaderName,
    host: HeaderName,
    scheme: HeaderName,
    pub(super) denial: Denial,
}

/// How a proxy is told that a request may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denial {
    /// By the response that its client is to get.
    Native,
    /// By 403, beside which a field says the status that is meant: the proxy takes any other for a failure.
    As403,
}

/// Traefik's `ForwardAuth`, Caddy's `forward_auth`, APISIX's `forward-auth`.
static FORWARD_AUTH: Dialect = Dialect {
    path: "/forward-auth",
    method: HeaderName::from_static("x-forwarded-method"),
    target: HeaderName::from_static("x-forwarded-uri"),
    host: HeaderName::from_static("x-forwarded-host"),
    scheme: HeaderName::from_static("x-forwarded-proto"),
    denial: Denial::Native,
};

/// `auth_request` of nginx, and what ingress controllers make of it.
static AUTH_REQUEST: Dialect = Dialect {
    path: "/auth-request",
    method: HeaderName::from_static("x-original-method"),
    target: HeaderName::from_static("x-original-uri"),
    host: HeaderName::from_static("x-original-host"),
    scheme: HeaderName::from_static("x-original-scheme"),
    denial: Denial::As403,
};

impl Dialect {
    /// The one that is spoken at `path`.
    pub(super) fn at(path: &str) -> Option<&'static Self> {
        [&FORWARD_AUTH, &AUTH_REQUEST]
            .into_iter()
            .find(|dialect| dialect.path == path)
    }

    /// The request that is asked about, with the fields that its client sent.
    pub(super) fn described(&self, mut head: Parts) -> Result<Request<()>, Misasked> {
        let fields = &mut head.headers;
        let method = taken(fields, &self.method)?.ok_or(Misasked::Method)?;
        let target = taken(fields, &self.target)?.ok_or(Misasked::Target)?;
        head.method = Method::from_bytes(&method).map_err(|_| Misasked::Method)?;
        head.uri = origin_form(&target).ok_or(Misasked::Target)?;
        if let Some(host) = fields.remove(&self.host) {
            fields.insert(HOST, host);
        }
        Ok(Request::from_parts(head, ()))
    }

    /// Whether the client spoke TLS with the proxy.
    pub(super) fn is_secure(&self, fields: &HeaderMap) -> bool {
        fields.get(&self.scheme).is_some_and(|scheme| scheme == "https")
    }
}

/// The one value of the field `name`, which then is no longer there.
fn taken(fields: &mut HeaderMap, name: &HeaderName) -> Result<Option<Vec<u8>>, Misasked> {
    let mut values = fields.get_all(name).iter();
    let first = values.next().map(|value| value.as_bytes().to_vec());
    if values.next().is_some() {
        return Err(Misasked::Twice);
    }
    fields.remove(name);
    Ok(first)
}

/// A target as requests have it: a path and a query.
fn origin_form(target: &[u8]) -> Option<Uri> {
    let target = PathAndQuery::try_from(target).ok()?;
    target.as_str().starts_with('/').then(|| target.into())
}
