//! What a policy file means: settings that cannot be wrong, with their defaults.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::{NonZeroU8, NonZeroUsize};
use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use http::uri::Authority;
use ipnet::IpNet;

use crate::{Answers, PolicySet};

/// Everything a policy file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the gateway listens and forwards to, and what it bounds.
    pub gateway: Gateway,
    /// Where counters are kept.
    pub store: StoreSettings,
    /// How a request becomes an identity.
    pub identity: IdentitySettings,
    /// How clients are told of their limits. Default: draft -11, with `X-RateLimit` fields, without jitter.
    pub answers: Answers,
    /// The policies, compiled.
    pub policies: PolicySet,
}

/// Where the gateway listens and forwards to, and what it bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Addresses to listen on, at least one. Default: `127.0.0.1:8080`.
    pub listen: Vec<SocketAddr>,
    /// The origin. Default: none, and then the door has to be told another way.
    pub upstream: Option<Upstream>,
    /// Whose `X-Forwarded-For` is believed. Default: nobody's.
    pub trust: Trust,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// How much a client may send.
    pub bounds: Bounds,
    /// Worker threads. Default: one per processor.
    pub workers: Option<NonZeroUsize>,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080))],
            upstream: None,
            trust: Trust::Nobody,
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
            workers: None,
        }
    }
}

/// An origin reached over plain HTTP: `http://host` or `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream(Authority);

impl Upstream {
    /// Host and port, as written.
    pub fn authority(&self) -> &Authority {
        &self.0
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(url: &str) -> Result<Self, UpstreamError> {
        let rest = url
            .strip_prefix("http://")
            .ok_or(if url.starts_with("https://") {
                UpstreamError::Tls
            } else {
                UpstreamError::Scheme
            })?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(UpstreamError::Path);
        }
        let authority: Authority = rest.parse().map_err(|_| UpstreamError::Host)?;
        let port_is_number = authority.port().is_none() || authority.port_u16().is_some_and(|port| port > 0);
        if authority.host().is_empty() || rest.contains('@') || !port_is_number || rest.ends_with(':') {
            return Err(UpstreamError::Host);
        }
        Ok(Self(authority))
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

/// Why a text is no [`Upstream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It does not begin with `http://`.
    Scheme,
    /// It begins with `https://`, which this version does not speak to origins.
    Tls,
    /// It has a path, a query or a fragment.
    Path,
    /// Host or port is missing, empty or not one.
    Host,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "begin it with `http://`, such as `http://127.0.0.1:3000`",
            Self::Tls => "TLS to the upstream is not available in this version: write `http://`",
            Self::Path => "write no path, only `http://host:port`: requests keep their own path",
            Self::Host => "write `http://host` or `http://host:port`",
        })
    }
}

impl std::error::Error for UpstreamError {}

/// Whose `X-Forwarded-For` is believed. The field is read from the right, and only as far as trust goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nobody's: the client is whoever opened the connection.
    #[default]
    Nobody,
    /// That of this many proxies in front of us, whatever their addresses.
    Hops(NonZeroU8),
    /// That of peers in these networks.
    Proxies(Vec<IpNet>),
}

/// How long each step of the gateway may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To open a connection to the upstream. Default: 5 s.
    pub connect: Duration,
    /// For a client to send the head of a request. Default: 10 s.
    pub request_header: Duration,
    /// For the upstream to send the head of its response. Default: 60 s.
    pub upstream_response: Duration,
    /// For a connection or a body on which nothing moves. Default: 60 s.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request_header: Duration::from_secs(10),
            upstream_response: Duration::from_secs(60),
            idle: Duration::from_secs(60),
        }
    }
}

/// How much a client may send. What goes beyond is refused before any policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a request's head. Default: 32 KiB.
    pub max_header_bytes: usize,
    /// Header fields of a request. Default: 100.
    pub max_headers: usize,
    /// Bytes of a request's body. Default: no bound; bodies are streamed, never held.
    pub max_body_bytes: Option<u64>,
    /// Connections of clients at one time. Default: 10,000.
    pub max_connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_header_bytes: 32 * 1024,
            max_headers: 100,
            max_body_bytes: None,
            max_connections: 10_000,
        }
    }
}

/// Where counters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreSettings {
    /// In this process.
    Memory {
        /// The most memory counters may take. Default: 64 MiB.
        bytes: usize,
    },
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self::Memory {
            bytes: 64 * 1024 * 1024,
        }
    }
}

/// How a request becomes an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentitySettings {
    /// API keys. Default: none, everybody is anonymous.
    pub api_key: Option<ApiKeySettings>,
    /// How many leading bits of an IPv6 address count as one client. Default: 64.
    pub ipv6_prefix: u8,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self {
            api_key: None,
            ipv6_prefix: 64,
        }
    }
}

/// Where API keys are found in requests, and what each kind of key leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeySettings {
    /// Where a request carries its key.
    pub place: KeyPlace,
    /// The file of known keys, as written: relative to the policy file's folder.
    pub keys: String,
    /// A request without a key. Default: anonymous.
    pub on_missing: Treatment,
    /// A key that is not in the file. Default: reject.
    pub on_unknown: Treatment,
    /// A key that the file calls revoked. Default: reject.
    pub on_revoked: Treatment,
}

/// Where a request carries its API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header field.
    Header(HeaderName),
    /// In a query parameter.
    Query(String),
    /// In a cookie.
    Cookie(String),
}

/// What a request with a doubtful API key gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// A 401.
    Reject,
    /// Service, as nobody in particular.
    Anonymous,
}
