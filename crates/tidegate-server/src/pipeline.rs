//! What happens to a request before it is forwarded, in order: now, identify, match, charge, conclude.

use std::net::IpAddr;

use http::request::Parts;

/// Decides about requests.
#[derive(Debug, Default)]
pub struct Pipeline {}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It goes on to the upstream.
    Pass,
}

impl Pipeline {
    /// A pipeline that lets everything pass.
    pub fn open() -> Self {
        Self {}
    }

    /// Decides about one request of the client behind `peer`.
    #[expect(clippy::unused_async, reason = "charging a store is what is awaited here")]
    pub(crate) async fn admit(&self, _head: &Parts, _peer: IpAddr) -> Admission {
        Admission::Pass
    }
}
