//! What a policy can see of a request.

mod body;
mod tls;

use core::net::IpAddr;

use http::{HeaderMap, Method};

pub use body::Body;
pub use tls::Tls;

/// A borrowed view of a request, the same from every door.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
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
