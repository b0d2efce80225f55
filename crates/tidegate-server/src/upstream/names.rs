//! Names of servers become addresses.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Looks names up.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// The addresses of `host`, each with `port`.
    fn resolve(&self, host: &str, port: u16) -> Resolving;
}

/// A name being looked up.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// The system's way: `/etc/hosts`, DNS and whatever else it is set up for (`getaddrinfo`).
#[derive(Clone, Copy, Debug)]
pub struct SystemNames;

impl Resolve for SystemNames {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, port)).await?;
            Ok(found.take(MAX_ADDRESSES).collect())
        })
    }
}

/// The most addresses of one name that are used.
pub const MAX_ADDRESSES: usize = 64;

/// How names of servers are looked up, and how often.
#[derive(Clone, Debug)]
pub struct Names {
    /// Who looks them up. Default: the system.
    pub resolver: Arc<dyn Resolve>,
    /// How often. Default: 10 s; the system does not say how long an answer holds.
    pub every: Duration,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemNames),
            every: Duration::from_secs(10),
        }
    }
}
