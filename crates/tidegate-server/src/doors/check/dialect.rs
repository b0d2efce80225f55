//! How each proxy describes the request that it asks about, and what it makes of the answer.

use http::header::HOST;
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};

use super::{Misasked, Unasked};
use crate::gateway::Fault;

/// How one kind of proxy asks.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The path that is asked.
    path: &'static str,
    head: Head,
    scheme: HeaderName,
    pub(super) denial: Denial,
    /// Whether the proxy can be told what to take off a request before it goes on.
    pub(super) takes_off: bool,
}

/// Where method, target and host of the described request are.
#[derive(Debug)]
enum Head {
    /// In these fields; the host, where its field is missing, in `Host`.
    Fields {
        method: HeaderName,
        target: HeaderName,
        host: HeaderName,
    },
    /// They are those of the sub-request, whose target has the dialect's path in front.
    Own,
}

/// How a proxy is told that a request may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denial {
    /// By the response that its client is to get.
    Native,
    /// By 401 or 403. The proxy takes any other for a failure, so those become 403, beside which a field says the status that is meant.
    As403,
    /// By the response, unless its status is 5xx: those are failures to the proxy.
    Below500,
}

/// Traefik's `ForwardAuth`, Caddy's `forward_auth`, APISIX's `forward-auth`.
static FORWARD_AUTH: Dialect = Dialect {
    path: "/forward-auth",
    head: Head::Fields {
        method: HeaderName::from_static("x-forwarded-method"),
        target: HeaderName::from_static("x-forwarded-uri"),
        host: HeaderName::from_static("x-forwarded-host"),
    },
    scheme: HeaderName::from_static("x-forwarded-proto"),
    denial: Denial::Native,
    takes_off: false,
};

/// `auth_request` of nginx, and what ingress controllers make of it.
static AUTH_REQUEST: Dialect = Dialect {
    path: "/auth-request",
    head: Head::Fields {
        method: HeaderName::from_static("x-original-method"),
        target: HeaderName::from_static("x-original-uri"),
        host: HeaderName::from_static("x-original-host"),
    },
    scheme: HeaderName::from_static("x-original-scheme"),
    denial: Denial::As403,
    takes_off: false,
};

/// Envoy's `ext_authz` over HTTP.
static EXT_AUTHZ: Dialect = Dialect {
    path: "/ext-authz",
    head: Head::Own,
    scheme: HeaderName::from_static("x-forwarded-proto"),
    denial: Denial::Below500,
    takes_off: true,
};

impl Dialect {
    /// The one that is spoken at `path`.
    pub(super) fn at(path: &str) -> Option<&'static Self> {
        [&FORWARD_AUTH, &AUTH_REQUEST, &EXT_AUTHZ]
            .into_iter()
            .find(|dialect| match (path.strip_prefix(dialect.path), &dialect.head) {
                (Some(rest), Head::Fields { .. }) => rest.is_empty(),
                (Some(rest), Head::Own) => rest.starts_with('/'),
                (None, _) => false,
            })
    }

    /// The request that is asked about, with the fields that its client sent.
    pub(super) fn described<B>(&self, mut request: Request<B>) -> Result<Request<B>, Unasked> {
        match &self.head {
            Head::Fields { method, target, host } => {
                let fields = request.headers_mut();
                let method = taken(fields, method)?.ok_or(Misasked::Method)?;
                let target = taken(fields, target)?.ok_or(Misasked::Target)?;
                if let Some(host) = taken(fields, host)? {
                    fields.insert(HOST, host);
                }
                *request.method_mut() = Method::from_bytes(method.as_bytes()).map_err(|_| Fault::Target)?;
                *request.uri_mut() = origin_form(target.as_bytes())?;
            }
            Head::Own => {
                let target = request.uri().path_and_query().map_or("", PathAndQuery::as_str);
                let target = target.get(self.path.len()..).unwrap_or_default();
                *request.uri_mut() = origin_form(target.as_bytes())?;
            }
        }
        Ok(request)
    }

    /// Whether the client spoke TLS with the proxy.
    pub(super) fn is_secure(&self, fields: &HeaderMap) -> bool {
        fields.get(&self.scheme).is_some_and(|scheme| scheme == "https")
    }
}

impl Denial {
    /// Whether the proxy hands a response with this status on, and does not take it for a failure.
    pub(super) fn understands(self, status: StatusCode) -> bool {
        match self {
            Self::Native => true,
            Self::As403 => matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
            Self::Below500 => !status.is_server_error(),
        }
    }
}

/// The one value of the field `name`, which then is no longer there.
fn taken(fields: &mut HeaderMap, name: &HeaderName) -> Result<Option<HeaderValue>, Misasked> {
    if fields.get_all(name).iter().nth(1).is_some() {
        return Err(Misasked::Twice);
    }
    Ok(fields.remove(name))
}

/// A target as requests have it: a path and a query.
fn origin_form(target: &[u8]) -> Result<Uri, Fault> {
    PathAndQuery::try_from(target)
        .map(Uri::from)
        .map_err(|_| Fault::Target)
}
