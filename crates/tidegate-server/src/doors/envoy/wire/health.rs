//! `grpc.health.v1`.

use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HealthCheckRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) service: Bytes,
}

/// The field of `HealthCheckResponse`.
pub(crate) const STATUS: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServingStatus {
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}
