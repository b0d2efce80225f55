//! What the gateway can be told.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tidegate_policy::{Callers, Door, ProxyProtocol, RedisDoor, RequestIds};

use crate::access_log::AccessLog;

use crate::tls::TlsListener;
use crate::upstream::Names;

/// An address to listen on.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The address. Port 0 takes a free one.
    pub address: SocketAddr,
    /// The TLS that is spoken there. Default: none.
    pub tls: Option<Arc<TlsListener>>,
    /// The header that every connection begins with, of peers that are trusted proxies. Default: none.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// What is spoken there. Default: what clients of a gateway speak.
    pub door: Door,
    /// Who may connect. Default: anybody.
    pub callers: Callers,
    /// What only a door that speaks the protocol of Redis has. Default: nothing.
    pub redis: Option<RedisDoor>,
}

impl From<SocketAddr> for Listener {
    /// Plain HTTP.
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            tls: None,
            proxy_protocol: None,
            door: Door::Gateway,
            callers: Callers::Anybody,
            redis: None,
        }
    }
}

/// How a gateway listens, and what it bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients connect.
    pub listen: Vec<Listener>,
    /// Threads, each with its own listener, connections and pool. Default: one per core.
    pub workers: NonZeroUsize,
    /// What to add to `Via` in both directions, such as `1.1 tidegate`. Default: nothing.
    pub via: Option<HeaderValue>,
    /// Whether each request gets an id. Default: on.
    pub request_ids: RequestIds,
    /// Where to write about each request. Default: nowhere.
    pub access_log: Option<AccessLog>,
    /// How names of servers are looked up.
    pub names: Names,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How much of what is taken.
    pub bounds: Bounds,
}

impl Settings {
    /// Everything at its default.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen: vec![listen.into()],
            workers: one_per_core(),
            via: None,
            request_ids: RequestIds::On,
            access_log: None,
            names: Names::default(),
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
        }
    }

    /// What `gateway` of a policy file says; what it does not speak of is at its default. `tls` is what was loaded for its listeners.
    pub fn configured(gateway: &tidegate_policy::Gateway, tls: &[Option<Arc<TlsListener>>]) -> Self {
        let (timeouts, bounds) = (&gateway.timeouts, &gateway.bounds);
        Self {
            listen: listeners(&gateway.listen, tls),
            workers: gateway.workers.unwrap_or_else(one_per_core),
            via: None,
            request_ids: gateway.request_ids,
            access_log: None,
            names: Names::default(),
            timeouts: Timeouts {
                header: timeouts.request_header,
                keep_alive: timeouts.idle,
                connect: timeouts.connect,
                response: timeouts.upstream_response,
                body: timeouts.idle,
                policy_body: timeouts.policy_body,
                connection: bounds.max_connection_age.unwrap_or(Duration::MAX),
                ..Timeouts::default()
            },
            bounds: Bounds {
                connections: bounds.max_connections,
                connections_per_address: bounds.max_connections_per_address,
                requests_per_connection: bounds.max_requests_per_connection.unwrap_or(u64::MAX),
                body_rate: bounds.min_body_rate,
                header_bytes: bounds.max_header_bytes,
                header_fields: bounds.max_headers,
                body_bytes: bounds.max_body_bytes.unwrap_or(u64::MAX),
                body_memory: bounds.max_body_memory,
                ..Bounds::default()
            },
        }
    }
}

/// `listen` with its TLS. A listener whose TLS was not loaded is left out: it must not speak in clear.
fn listeners(listen: &[tidegate_policy::Listener], tls: &[Option<Arc<TlsListener>>]) -> Vec<Listener> {
    let loaded = tls.iter().chain(std::iter::repeat(&None));
    let with_tls = listen.iter().zip(loaded);
    with_tls
        .filter(|(listener, loaded)| listener.tls.is_some() == loaded.is_some())
        .map(|(listener, loaded)| Listener {
            address: listener.address,
            tls: loaded.clone(),
            proxy_protocol: listener.proxy_protocol,
            door: listener.door,
            callers: listener.callers.clone(),
            redis: listener.redis.clone(),
        })
        .collect()
}

fn one_per_core() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
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
    /// For the whole of a body, or as much of it as policies look at.
    pub policy_body: Duration,
    /// How long a client's body is waited for in all, beyond what its bytes take at the rate that is asked of them.
    pub body_grace: Duration,
    /// How long a client's connection is given requests. Default: without end.
    pub connection: Duration,
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
            keep_alive: Duration::from_secs(60),
            connect: Duration::from_secs(5),
            response: Duration::from_secs(60),
            body: Duration::from_secs(60),
            policy_body: Duration::from_secs(30),
            body_grace: Duration::from_secs(10),
            connection: Duration::MAX,
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
            self.policy_body,
            self.body_grace,
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
    /// Of these, those of one client address (IPv6: one /64), unless it is a trusted proxy's. More are closed at once. On HTTP/2, each request
    /// beside others takes the place of one more; without a place it is 503.
    pub connections_per_address: usize,
    /// Requests on one connection. After the last it is closed in order. Default: any number.
    pub requests_per_connection: u64,
    /// Bytes of a body that a client sends per second on an average, after [`Timeouts::body_grace`]. 0: any number.
    pub body_rate: u64,
    /// Bytes of a request's head. More are 431.
    pub header_bytes: usize,
    /// Header fields of a request. More are 431; over HTTP/1 never more than 100.
    pub header_fields: usize,
    /// Bytes of the request target. More are 414.
    pub target_bytes: usize,
    /// Bytes of a request's body. More are 413, or an end of the connection once the response has begun. Default: any number.
    pub body_bytes: u64,
    /// Bytes of bodies held for policies, in all. More are 503.
    pub body_memory: usize,
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
            connections: 10_000,
            connections_per_address: 1_000,
            requests_per_connection: u64::MAX,
            body_rate: 240,
            header_bytes: 32 * 1024,
            header_fields: 100,
            target_bytes: 8 * 1024,
            body_bytes: u64::MAX,
            body_memory: 64 * 1024 * 1024,
            streams: 128,
            upstream_connections: 10_000,
            upstream_idle: 256,
        }
    }
}
