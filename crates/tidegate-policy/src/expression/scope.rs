//! What the variables of expressions are for one request. Only those that are asked for are looked up.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value as Json;

use super::ExpressionFault;
use super::fuel::Fuel;
use super::map::{Map, owned_text};
use super::value::Value;
use super::variables::Variable;
use crate::set::host;
use crate::{Body, Identity, Request};

/// One request, as expressions see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'v> {
    pub(crate) request: &'v Request<'v>,
    pub(crate) identity: &'v Identity,
    /// The segments of the path, as they were read when the policy matched.
    pub(crate) segments: &'v [Cow<'v, [u8]>],
}

impl<'v> Scope<'v> {
    /// What `variable` is. None if the request does not have it.
    pub(super) fn value(
        &self,
        variable: Variable,
        fuel: &mut Fuel,
    ) -> Result<Option<Value<'v>>, ExpressionFault> {
        let request = self.request;
        Ok(match variable {
            Variable::RequestMethod => Some(Value::borrowed(request.method.as_str())),
            Variable::RequestHost => Some(of_cow(host::normal(request.host))),
            Variable::RequestPath => Some(self.path(fuel)?),
            Variable::RequestQuery => Some(Value::Map(Map::Query(request.query.unwrap_or_default()))),
            Variable::RequestHeaders => Some(Value::Map(Map::Headers(request.headers))),
            Variable::RequestCookies => Some(Value::Map(Map::Cookies(request.headers))),
            Variable::RequestScheme => {
                let scheme = if request.tls.is_some() { "https" } else { "http" };
                Some(Value::borrowed(scheme))
            }
            Variable::ClientIp => Some(Value::made(request.client.to_string())),
            Variable::TlsServerName => {
                let name = request.tls.and_then(|tls| tls.server_name.as_deref());
                name.map(Value::borrowed)
            }
            Variable::IdentityKnown => Some(Value::Bool(matches!(self.identity, Identity::Known { .. }))),
            Variable::IdentitySubject => self.subject(),
            Variable::IdentityTier => self.tier(),
            Variable::Claims => Some(Value::Map(self.claims())),
            Variable::BodyJson => self.json().map(Value::of_json),
            Variable::BodyForm => self.form().map(|form| Value::Map(Map::Query(form))),
            Variable::BodyGraphqlOperation => self.graphql_operation(),
            // What bots and places are is not known yet.
            Variable::BotVerified | Variable::BotName | Variable::GeoCountry | Variable::GeoAsn => None,
        })
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

    /// The claims of the token that says who asks: none yet.
    fn claims(&self) -> Map<'v> {
        Map::Made(Arc::from([]))
    }

    /// The body, if it was read and is JSON.
    fn json(&self) -> Option<&'v Json> {
        match self.request.body {
            Body::Unread => None,
        }
    }

    /// The body as it was sent, if it was read and is a form.
    fn form(&self) -> Option<&'v str> {
        match self.request.body {
            Body::Unread => None,
        }
    }

    fn graphql_operation(&self) -> Option<Value<'v>> {
        None
    }
}

fn of_cow(text: Cow<'_, str>) -> Value<'_> {
    match text {
        Cow::Borrowed(text) => Value::borrowed(text),
        Cow::Owned(text) => Value::made(text),
    }
}
