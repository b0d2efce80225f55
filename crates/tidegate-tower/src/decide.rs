//! What the layer asks of whoever decides.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};

/// Decides about requests: the limiter of this process, or one that asks a service.
pub trait Decide: Send + Sync + 'static {
    /// Decides about the request with the head `request`, sent by `peer`, and waits if a limit says so. Of a request that may pass, the
    /// head is changed: it tells the service what was decided.
    fn decide<'d>(&'d self, request: &mut Parts, peer: IpAddr) -> impl Future<Output = Decided<'d>> + Send;
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Decided<'d> {
    /// It is answered here.
    Answered(Response<Bytes>),
    /// It goes on to the service.
    Passed(Passed<'d>),
}

/// What is left to do for a request that may pass.
pub struct Passed<'d> {
    /// Tells the client of its limits, on the response of the service.
    pub mark: Box<dyn FnOnce(&mut HeaderMap) + Send + 'd>,
    /// What the request holds until its response has ended.
    pub hold: Option<Hold>,
}

impl fmt::Debug for Passed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passed")
            .field("hold", &self.hold)
            .finish_non_exhaustive()
    }
}

/// Slots of concurrency limits, given back when this is dropped, so in whichever way their request ends.
pub struct Hold(Option<Box<dyn FnOnce() + Send>>);

impl Hold {
    /// Calls `give_back` when it is dropped.
    pub fn new(give_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(give_back)))
    }

    /// Nothing was taken, so that nothing is given back.
    pub fn forget(mut self) -> Option<Self> {
        self.0 = None;
        None
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(give_back) = self.0.take() {
            give_back();
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}
