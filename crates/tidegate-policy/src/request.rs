//! What a policy can see of a request.

pub(crate) mod body;
mod tls;

use core::net::IpAddr;

use http::{HeaderMap, Method, Version};

use body::graphql;
use body::media::Media;

use serde_json::Value;

pub use body::graphql::{Graphql, Operation};
pub use body::{Body, Content};
pub use tls::{PeerCertificate, Tls};

/// A borrowed view of a request, the same from every door.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
    /// The version of HTTP that it was sent in.
    pub version: Version,
    /// The host asked for: `Host` or `:authority`, as sent.
    pub host: &'a str,
    /// The path as sent, beginning with `/`, percent-encoding untouched.
    pub path: &'a str,
    /// The query as sent, without `?`.
    pub query: Option<&'a str>,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// The client: mapped forms unmapped, forwarded fields already followed as far as they are trusted.
    pub client: IpAddr,
    /// The TLS connection it came over; none if it came in clear.
    pub tls: Option<&'a Tls>,
    /// Its body, as far as it was read for policies.
    pub body: &'a Body,
}

impl<'a> Request<'a> {
    /// Its body as JSON. None if it is not JSON in UTF-8 and nothing more, or if an object has two members of one name. Read once.
    pub fn json(&self) -> Option<&'a Value> {
        match self.body {
            Body::Whole(content) if Media::of(self.headers) == Some(Media::Json) => content.document(),
            _ => None,
        }
    }

    /// The fields of its body as a form, decoded, in their order, without those that come several times or are not UTF-8. None of
    /// them if there are more than 100. Read once.
    pub fn form(&self) -> &'a [(String, String)] {
        match self.body {
            Body::Whole(content) if Media::of(self.headers) == Some(Media::Form) => content.fields(),
            _ => &[],
        }
    }

    /// What it asks for in GraphQL, by its body or its query string. None if it asks for nothing, or if origins may differ over it.
    pub fn graphql(&self) -> Option<Graphql> {
        graphql::asked(self).ok()
    }

    /// The same request, as if nobody had looked at its body.
    pub(crate) fn without_body(&self) -> Self {
        Self {
            body: &Body::UNREAD,
            ..*self
        }
    }
}
