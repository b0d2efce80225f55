//! What the gateway can be told.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use http::HeaderValue;
use http::uri::{Authority, Scheme, Uri};

/// How a gateway listens, where it forwards to, and what it bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients connect. Port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// The origin.
    pub upstream: Upstream,
    /// Threads, each with its own listener, connections and pool. Default: one per core.
    pub workers: NonZeroUsize,
    /// What to add to `Via` in both directions, such as `1.1 tidegate`. Default: nothing.
    pub via: Option<HeaderValue>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How much of what is taken.
    pub bounds: Bounds,
}

impl Settings {
    /// Everything at its default, in front of `upstream`.
    pub fn new(listen: SocketAddr, upstream: Upstream) -> Self {
        Self {
            listen: vec![listen],
            upstream,
            workers: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            via: None,
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
        }
    }
}

/// How long the gateway waits for what. They are kept to within an eighth of the shortest, at most 100 ms late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a request to the end of its head.
    pub header: Duration,
    /// Between two requests on a connection.
    pub keep_alive: Duration,
    /// Until the upstream accepted a connection.
    pub connect: Duration,
    /// From the whole request sent to the head of its response.
    pub response: Duration,
    /// Without a byte of a body moving, in either direction, at either side.
    pub body: Duration,
    /// Without a byte in an upgraded connection.
    pub tunnel: Duration,
    /// How long an idle connection to the upstream is kept.
    pub upstream_idle: Duration,
    /// How long requests in flight may take once a stop was asked for.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            keep_alive: Duration::from_secs(75),
            connect: Duration::from_secs(3),
            response: Duration::from_secs(60),
            body: Duration::from_secs(30),
            tunnel: Duration::from_secs(600),
            // Node.js closes idle connections after five seconds.
            upstream_idle: Duration::from_secs(4),
            drain: Duration::from_secs(30),
        }
    }
}

impl Timeouts {
    /// The shortest of the waits that the workers' ticks measure.
    pub(crate) fn shortest(&self) -> Duration {
        [
            self.header,
            self.keep_alive,
            self.response,
            self.body,
            self.tunnel,
            self.upstream_idle,
        ]
        .into_iter()
        .min()
        .unwrap_or(self.header)
    }
}

/// How much the gateway takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Client connections open at a time, over all workers. More wait in the kernel's queue.
    pub connections: usize,
    /// Bytes of a request's head. More are 431.
    pub header_bytes: usize,
    /// Header fields of a request. More are 431; over HTTP/1 never more than 100.
    pub header_fields: usize,
    /// Bytes of the request target. More are 414.
    pub target_bytes: usize,
    /// Requests at a time on one HTTP/2 connection.
    pub streams: u32,
    /// Connections to the upstream, over all workers. More are 503.
    pub upstream_connections: usize,
    /// Idle connections to the upstream that each worker keeps.
    pub upstream_idle: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 20_000,
            header_bytes: 32 * 1024,
            header_fields: 100,
            target_bytes: 8 * 1024,
            streams: 128,
            upstream_connections: 10_000,
            upstream_idle: 256,
        }
    }
}

/// Where the origin is: host and port, spoken to in plain HTTP/1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    authority: Authority,
    host: HeaderValue,
    port: u16,
}

impl Upstream {
    /// The upstream of a URL such as `http://127.0.0.1:3000`.
    ///
    /// # Errors
    /// [`UpstreamError`] if it is no URL, not `http`, or says more than scheme, host and port.
    pub fn parse(url: &str) -> Result<Self, UpstreamError> {
        let uri: Uri = url.parse().map_err(|_| UpstreamError::NotAUrl)?;
        let parts = uri.into_parts();
        if parts.scheme.is_some_and(|scheme| scheme != Scheme::HTTP) {
            return Err(UpstreamError::NotHttp);
        }
        let authority = parts.authority.ok_or(UpstreamError::NotAUrl)?;
        if parts.path_and_query.is_some_and(|path| path != "/") {
            return Err(UpstreamError::Path);
        }
        if authority.as_str().contains('@') {
            return Err(UpstreamError::UserInfo);
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| UpstreamError::NotAUrl)?;
        let port = authority.port_u16().unwrap_or(80);
        Ok(Self {
            authority,
            host,
            port,
        })
    }

    /// Host (an IPv6 address without its brackets) and port.
    pub fn address(&self) -> (&str, u16) {
        let host = self.authority.host();
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        (bare.unwrap_or(host), self.port)
    }

    /// What `Host` says for requests that came without one.
    pub(crate) fn host(&self) -> &HeaderValue {
        &self.host
    }
}

/// Why a text is no upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// Not `http://host:port`.
    NotAUrl,
    /// Another scheme than `http`.
    NotHttp,
    /// A path; paths are forwarded as they come.
    Path,
    /// A user name or password.
    UserInfo,
}

impl std::fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotAUrl => "not a URL such as http://127.0.0.1:3000",
            Self::NotHttp => "only http:// upstreams are spoken to",
            Self::Path => "an upstream has no path: requests keep theirs",
            Self::UserInfo => "an upstream has no user or password",
        })
    }
}

impl std::error::Error for UpstreamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_host_and_a_port() {
        assert_eq!(
            Upstream::parse("http://127.0.0.1:3000").unwrap().address(),
            ("127.0.0.1", 3000)
        );
        assert_eq!(Upstream::parse("http://[::1]:1").unwrap().address(), ("::1", 1));
        assert_eq!(
            Upstream::parse("http://origin.test/").unwrap().address(),
            ("origin.test", 80)
        );
    }

    #[test]
    fn whatever_else_an_upstream_says_is_refused_with_its_reason() {
        assert_eq!(
            Upstream::parse("https://127.0.0.1:3000"),
            Err(UpstreamError::NotHttp)
        );
        assert_eq!(Upstream::parse("http://h/base"), Err(UpstreamError::Path));
        assert_eq!(Upstream::parse("http://u:p@h"), Err(UpstreamError::UserInfo));
        assert_eq!(Upstream::parse("/path"), Err(UpstreamError::NotAUrl));
    }
}
