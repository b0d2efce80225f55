//! What is asked.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use serde::Serialize;

use crate::fields;

/// A question: whether a request may pass.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    request: Described,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    peek: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Described {
    #[serde(serialize_with = "method")]
    method: Method,
    path: String,
    client: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    #[serde(serialize_with = "fields::write")]
    headers: HeaderMap,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Check {
    /// Whether `request` of `client` may pass. All its header fields go along, so that policies can look at them; its body does not.
    pub fn of<B>(request: &Request<B>, client: IpAddr) -> Self {
        Self::new(request.method(), request.uri(), request.headers(), client)
    }

    /// The same of a request of which only the head is there.
    pub fn of_head(head: &Parts, client: IpAddr) -> Self {
        Self::new(&head.method, &head.uri, &head.headers, client)
    }

    fn new(method: &Method, target: &http::Uri, fields: &HeaderMap, client: IpAddr) -> Self {
        let path = target.path_and_query().map_or("/", |path| path.as_str());
        let mut headers = fields.clone();
        let host = headers.remove(header::HOST);
        let host = || Some(String::from_utf8_lossy(host.as_ref()?.as_bytes()).into_owned());
        let authority = target.authority().map(|authority| authority.as_str().to_owned());
        Self {
            request: Described {
                method: method.clone(),
                path: if path == "*" { "/" } else { path }.to_owned(),
                client,
                host: authority.or_else(host),
                scheme: None,
                headers,
                body: None,
            },
            peek: false,
        }
    }

    /// The request came over TLS.
    #[must_use]
    pub fn over_tls(mut self) -> Self {
        self.request.scheme = Some("https");
        self
    }

    /// The request has this body, the whole of it.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        self.request.body = Some(body.into());
        self
    }

    /// Only look: what would be decided now. Nothing is spent.
    #[must_use]
    pub fn peek(self) -> Self {
        Self { peek: true, ..self }
    }
}

fn method<S: serde::Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &Request<()>) -> serde_json::Value {
        let check = Check::of(request, "192.0.2.1".parse().unwrap());
        serde_json::to_value(check).unwrap()
    }

    #[test]
    fn a_request_is_described_with_what_policies_look_at() {
        let request = Request::post("/items?page=2")
            .header("host", "shop.example")
            .header("accept", "text/html")
            .header("accept", "*/*")
            .header("x-name", "zo\u{eb}")
            .body(())
            .unwrap();
        let expected = serde_json::json!({ "request": {
            "method": "POST",
            "path": "/items?page=2",
            "client": "192.0.2.1",
            "host": "shop.example",
            "headers": { "accept": ["text/html", "*/*"], "x-name": "zo\u{eb}" },
        }});
        assert_eq!(asked(&request), expected);
    }

    #[test]
    fn a_look_says_that_it_is_one() {
        let request = Request::get("/").body(()).unwrap();
        let look = Check::of(&request, "192.0.2.1".parse().unwrap()).peek();
        assert_eq!(serde_json::to_value(look).unwrap()["peek"], true);
    }

    #[test]
    fn the_authority_of_http2_is_the_host() {
        let request = Request::get("http://shop.example:81/").body(()).unwrap();
        assert_eq!(asked(&request)["request"]["host"], "shop.example:81");
    }

    #[test]
    fn a_value_that_is_no_text_is_still_a_value() {
        let value = http::HeaderValue::from_bytes(b"a\xff").unwrap();
        let request = Request::get("/").header("x-name", value).body(()).unwrap();
        assert_eq!(asked(&request)["request"]["headers"]["x-name"], "a\u{fffd}");
    }
}
