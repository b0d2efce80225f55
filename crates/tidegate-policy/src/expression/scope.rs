//! What the variables of expressions are for one request or call. Only those that are asked for are looked up.

use std::borrow::Cow;

use http::Version;

use super::ExpressionFault;
use super::fuel::Fuel;
use super::map::{Map, owned_text};
use super::value::{List, Value};
use super::variables::Variable;
use crate::request::body::media;
use crate::set::host;
use crate::{Body, Entry, Graphql, Identity, PeerCertificate, Request};

/// What expressions see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'v> {
    Request(RequestScope<'v>),
    Call(CallScope<'v>),
}

/// One call of the rate limit service, as expressions see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallScope<'v> {
    pub(crate) domain: &'v str,
    /// The entries of each of its descriptors.
    pub(crate) descriptors: &'v [&'v [Entry<'v>]],
    /// Those of the one that was matched; none if the policy is about the whole call.
    pub(crate) descriptor: Option<&'v [Entry<'v>]>,
}

/// One request, as expressions see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestScope<'v> {
    pub(crate) request: &'v Request<'v>,
    pub(crate) identity: &'v Identity,
    /// The segments of the path, as they were read when the policy matched.
    pub(crate) segments: &'v [Cow<'v, [u8]>],
}

impl<'v> Scope<'v> {
    /// What `variable` is. None if the request or call does not have it.
    #[inline]
    pub(super) fn value(
        &self,
        variable: Variable,
        fuel: &mut Fuel,
    ) -> Result<Option<Value<'v>>, ExpressionFault> {
        match self {
            Self::Request(scope) => scope.value(variable, fuel),
            Self::Call(scope) => Ok(scope.value(variable)),
        }
    }
}

impl<'v> CallScope<'v> {
    fn value(&self, variable: Variable) -> Option<Value<'v>> {
        match variable {
            Variable::Domain => Some(Value::borrowed(self.domain)),
            Variable::Descriptors => Some(Value::List(List::Descriptors(self.descriptors))),
            Variable::Descriptor => self.descriptor.map(|entries| Value::Map(Map::Entries(entries))),
            // Of requests: no expression about calls can name them.
            _ => None,
        }
    }
}

impl<'v> RequestScope<'v> {
    /// What `variable` is. None if the request does not have it.
    fn value(&self, variable: Variable, fuel: &mut Fuel) -> Result<Option<Value<'v>>, ExpressionFault> {
        let request = self.request;
        Ok(match variable {
            Variable::RequestMethod => Some(Value::borrowed(request.method.as_str())),
            Variable::RequestHost => {
                fuel.spend_bytes(request.host.len())?;
                Some(of_cow(host::normal(request.host)))
            }
            Variable::RequestPath => Some(self.path(fuel)?),
            Variable::RequestQuery => Some(Value::Map(Map::Query(request.query.unwrap_or_default()))),
            Variable::RequestHeaders => Some(Value::Map(Map::Headers(request.headers))),
            Variable::RequestCookies => Some(Value::Map(Map::Cookies(request.headers))),
            Variable::RequestScheme => {
                let scheme = if request.tls.is_some() { "https" } else { "http" };
                Some(Value::borrowed(scheme))
            }
            Variable::RequestProtocol => protocol(request.version).map(Value::borrowed),
            Variable::ClientIp => Some(Value::made(request.client.to_string())),
            Variable::TlsVersion => {
                let version = request.tls.and_then(|tls| tls.version);
                version.map(|version| Value::borrowed(version.as_str()))
            }
            Variable::TlsCipher => {
                let cipher = request.tls.map(|tls| tls.cipher);
                cipher.filter(|cipher| !cipher.is_empty()).map(Value::borrowed)
            }
            Variable::TlsServerName => {
                let name = request.tls.and_then(|tls| tls.server_name.as_deref());
                name.map(Value::borrowed)
            }
            Variable::TlsAlpn => request.tls.and_then(|tls| tls.alpn).map(Value::borrowed),
            Variable::CertificateSubject => self.certificate().map(|shown| Value::borrowed(&shown.subject)),
            Variable::CertificateNames => match self.certificate() {
                Some(shown) => {
                    fuel.spend(shown.names.len())?;
                    let names = shown.names.iter().map(|name| Value::borrowed(name));
                    Some(Value::List(List::Made(names.collect())))
                }
                None => None,
            },
            Variable::CertificateSha256 => self.certificate().map(|shown| Value::borrowed(&shown.sha256)),
            Variable::IdentityKnown => Some(Value::Bool(matches!(self.identity, Identity::Known { .. }))),
            Variable::IdentitySubject => self.subject(),
            Variable::IdentityTier => self.tier(),
            Variable::Claims => self.identity.claims().map(|claims| Value::Map(Map::Json(claims))),
            Variable::BodyJson => request.json().map(Value::of_json),
            Variable::BodyForm => self.form(fuel)?,
            Variable::GraphqlOperation => {
                let operation = self.graphql(fuel)?.and_then(|asked| asked.operation);
                operation.and_then(|operation| operation.name).map(Value::made)
            }
            Variable::GraphqlType => {
                let operation = self.graphql(fuel)?.and_then(|asked| asked.operation);
                operation.map(|operation| Value::borrowed(operation.kind))
            }
            Variable::GraphqlOperations => {
                let count = self.graphql(fuel)?.map(|asked| asked.operations);
                count.and_then(|count| i64::try_from(count).ok()).map(Value::Int)
            }
            // What bots and places are is not known yet.
            Variable::BotVerified | Variable::BotName | Variable::GeoCountry | Variable::GeoAsn => None,
            // Of calls: no expression about requests can name them.
            Variable::Descriptor | Variable::Descriptors | Variable::Domain => None,
        })
    }

    fn certificate(&self) -> Option<&'v PeerCertificate> {
        self.request.tls?.client_certificate.as_ref()
    }

    /// The path as it was read when the policy matched, decoded, without a final slash.
    fn path(&self, fuel: &mut Fuel) -> Result<Value<'v>, ExpressionFault> {
        let sent = self.request.path;
        fuel.spend_bytes(sent.len())?;
        let sent = match sent.strip_suffix('/') {
            Some(shorter) if !shorter.is_empty() => shorter,
            _ => sent,
        };
        let as_sent = sent.strip_prefix('/').unwrap_or(sent);
        let mut pieces = as_sent.as_bytes().split(|byte| *byte == b'/');
        let is_as_sent =
            self.segments.iter().all(|segment| pieces.next() == Some(segment)) && pieces.next().is_none();
        if is_as_sent || (self.segments.is_empty() && as_sent.is_empty()) {
            return Ok(Value::borrowed(sent));
        }
        let mut path = Vec::with_capacity(sent.len());
        for segment in self.segments {
            path.push(b'/');
            path.extend_from_slice(segment);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        owned_text(Cow::Owned(path))
    }

    fn subject(&self) -> Option<Value<'v>> {
        match self.identity {
            Identity::Known { subject, .. } => Some(Value::borrowed(subject)),
            Identity::Anonymous => None,
        }
    }

    fn tier(&self) -> Option<Value<'v>> {
        match self.identity {
            Identity::Known { tier: Some(tier), .. } => Some(Value::borrowed(tier)),
            _ => None,
        }
    }

    /// The fields of the body, if it is a form. Read once, but paid for each time by the length of the body.
    fn form(&self, fuel: &mut Fuel) -> Result<Option<Value<'v>>, ExpressionFault> {
        let Some(media::Media::Form) = media::Media::of(self.request.headers) else {
            return Ok(None);
        };
        let Some(bytes) = self.read_bytes() else {
            return Ok(None);
        };
        fuel.spend_bytes(bytes)?;
        let fields = self.request.form().iter();
        let fields = fields.map(|(name, value)| (Value::borrowed(name), Value::borrowed(value)));
        Ok(Some(Value::Map(Map::Made(fields.collect()))))
    }

    fn graphql(&self, fuel: &mut Fuel) -> Result<Option<Graphql>, ExpressionFault> {
        let query = self.request.query.map_or(0, str::len);
        fuel.spend((query + self.read_bytes().unwrap_or(0)) / 8)?;
        Ok(self.request.graphql())
    }

    /// How long the body is, if all of it was read.
    fn read_bytes(&self) -> Option<usize> {
        match self.request.body {
            Body::Whole(_) => self.request.body.len(),
            _ => None,
        }
    }
}

/// The version of HTTP as a status line writes it. HTTP/2 and HTTP/3 have `.0` there, so that texts can be compared.
fn protocol(version: Version) -> Option<&'static str> {
    Some(match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_11 => "HTTP/1.1",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => return None,
    })
}

fn of_cow(text: Cow<'_, str>) -> Value<'_> {
    match text {
        Cow::Borrowed(text) => Value::borrowed(text),
        Cow::Owned(text) => Value::made(text),
    }
}
