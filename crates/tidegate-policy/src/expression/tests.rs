//! Expressions, requests and what comes of them.

mod arbitrary;
mod differential;
mod load;
mod price;
mod values;

use http::{HeaderMap, HeaderValue, Method, Version};

use super::{About, Expression, ExpressionFault, Fuel, RequestScope, Scope, Use, Value};
use crate::{Body, Identity, Request, Tls};

/// A request to try expressions on.
pub(super) struct World {
    pub(super) headers: HeaderMap,
    pub(super) host: String,
    pub(super) path: &'static str,
    pub(super) query: Option<&'static str>,
    pub(super) identity: Identity,
    pub(super) tls: Option<Tls>,
}

impl Default for World {
    fn default() -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-plan", "gold"),
            ("x-count", "7"),
            ("accept", "text/html"),
            ("accept", "text/plain"),
            ("cookie", "sid=a%20b; lang=de; twice=1; twice=2"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append("x-latin", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        Self {
            headers,
            host: "API.example.org:443".to_owned(),
            path: "/Users/42",
            query: Some("a=1&b=x%20y&twice=1&twice=2&empty="),
            identity: Identity::of_api_key("acme", None),
            tls: None,
        }
    }
}

impl World {
    /// Calls `then` with what an expression sees of this world.
    pub(super) fn see<T>(&self, then: impl FnOnce(&Scope<'_>) -> T) -> T {
        let views = crate::set::views::views(self.path).unwrap();
        let request = Request {
            method: &Method::POST,
            version: Version::HTTP_11,
            host: &self.host,
            path: self.path,
            query: self.query,
            headers: &self.headers,
            client: [192, 0, 2, 7].into(),
            tls: self.tls.as_ref(),
            body: &Body::UNREAD,
        };
        then(&Scope::Request(RequestScope {
            request: &request,
            identity: &self.identity,
            segments: &views[0],
        }))
    }

    /// The value of `source`, of any type, as a text that can be compared.
    pub(super) fn value(&self, source: &str) -> Result<String, ExpressionFault> {
        let node =
            super::parse::parse(source).map(|tree| super::check::check(&tree, source, About::Requests));
        let node = match node {
            Ok(Ok(typed)) => typed.node,
            other => panic!("{source}: {:?}", other.map(|checked| checked.err())),
        };
        self.see(|scope| super::evaluate::evaluate(&node, scope, &mut Fuel::new()).map(|value| shown(&value)))
    }
}

/// A value as a text that tells types apart.
pub(super) fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => format!("{value}u"),
        Value::Double(value) => format!("{value:?}"),
        Value::Text(text) => format!("'{}'", &**text),
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| shown(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(_) => "map".to_owned(),
    }
}

/// What is wrong with `source`.
pub(super) fn complaints(source: &str, used_as: Use) -> String {
    let Err(complaints) = Expression::compile(source, About::Requests, used_as) else {
        return "right".to_owned();
    };
    let lines = complaints.iter().map(|complaint| {
        let at = source.get(complaint.at.clone()).unwrap_or("?");
        format!("{at} | {} | {}", complaint.message, complaint.cure)
    });
    lines.collect::<Vec<_>>().join("\n")
}
