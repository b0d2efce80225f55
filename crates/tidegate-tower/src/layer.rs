//! The layer.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::request::Parts;
use tower_layer::Layer;

use crate::{Decide, RateLimited};

/// Limits the requests of a service.
///
/// Whom a request comes from is read from its extensions, a [`SocketAddr`], unless [`RateLimit::peer`] says otherwise. A request of nobody is answered with
/// 503: it would share its limits with all others.
pub struct RateLimit<D> {
    decider: Arc<D>,
    peer: Peer,
}

/// Says who sent a request.
pub(crate) type Peer = Arc<dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync>;

impl<D: Decide> RateLimit<D> {
    /// Limits by what `decider` says.
    pub fn new(decider: D) -> Self {
        Self {
            decider: Arc::new(decider),
            peer: Arc::new(|request| request.extensions.get::<SocketAddr>().map(SocketAddr::ip)),
        }
    }

    /// The other end of a request's connection is what `peer` finds in its head. Forwarded fields are none of its business: whether they are believed is up
    /// to the policies.
    #[must_use]
    pub fn peer(self, peer: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self {
            peer: Arc::new(peer),
            ..self
        }
    }
}

impl<D, S> Layer<S> for RateLimit<D> {
    type Service = RateLimited<D, S>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimited {
            inner,
            decider: self.decider.clone(),
            peer: self.peer.clone(),
        }
    }
}

impl<D> Clone for RateLimit<D> {
    fn clone(&self) -> Self {
        Self {
            decider: self.decider.clone(),
            peer: self.peer.clone(),
        }
    }
}

impl<D: fmt::Debug> fmt::Debug for RateLimit<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("decider", &self.decider)
            .finish_non_exhaustive()
    }
}
