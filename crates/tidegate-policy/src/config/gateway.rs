//! Settings of the gateway: where it listens, whom it trusts, what it bounds.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration;

use ipnet::IpNet;

use super::{Door, Listener, RequestIds};

/// Where the gateway listens, and what it bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Addresses to listen on: the gateway's own, followed by those of the doors beside it. Default: the gateway's alone, on
    /// `127.0.0.1:8080`; none of its own if there are doors and nothing speaks of an upstream.
    pub listen: Vec<Listener>,
    /// Whose forwarded field is believed. Default: nobody's.
    pub trust: Trust,
    /// In which field proxies say who came before them. Default: `X-Forwarded-For`.
    pub forwarded_field: ForwardedField,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// How much a client may send.
    pub bounds: Bounds,
    /// Worker threads. Default: one per processor.
    pub workers: Option<NonZeroUsize>,
    /// Whether each request gets an id. Default: on.
    pub request_ids: RequestIds,
}

impl Gateway {
    /// Where it listens if nothing is said.
    pub fn usual_address() -> SocketAddr {
        SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080))
    }

    /// Whether clients' requests are taken and forwarded.
    pub fn forwards(&self) -> bool {
        self.listen.iter().any(|listener| listener.door == Door::Gateway)
    }
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            listen: vec![Self::usual_address().into()],
            trust: Trust::Nobody,
            forwarded_field: ForwardedField::default(),
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
            workers: None,
            request_ids: RequestIds::On,
        }
    }
}

/// Whose forwarded field is believed. The field is read from the right, and only as far as trust goes.
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

/// In which field proxies say who came before them. One of them, never both: a proxy that writes one passes a forged other on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedField {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ForwardedField {
    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
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
    /// For the whole of a body that a policy looks at. Default: 30 s.
    pub policy_body: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request_header: Duration::from_secs(10),
            upstream_response: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            policy_body: Duration::from_secs(30),
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
    /// Bytes of a request's body. Default: no bound; bodies are streamed.
    pub max_body_bytes: Option<u64>,
    /// Bytes of all bodies that are held for policies. Default: 64 MiB.
    pub max_body_memory: usize,
    /// Connections of clients at one time. Default: 10,000.
    pub max_connections: usize,
    /// Of these, those of one address, an IPv6 network of 64 bits being one. Default: 1,000.
    pub max_connections_per_address: usize,
    /// Requests on one connection. Default: no bound.
    pub max_requests_per_connection: Option<u64>,
    /// How long a connection is given requests. Default: without end.
    pub max_connection_age: Option<Duration>,
    /// Bytes of a body per second, on an average after ten seconds; 0 for no bound. Default: 240.
    pub min_body_rate: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_header_bytes: 32 * 1024,
            max_headers: 100,
            max_body_bytes: None,
            max_body_memory: 64 * 1024 * 1024,
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            max_requests_per_connection: None,
            max_connection_age: None,
            min_body_rate: 240,
        }
    }
}
