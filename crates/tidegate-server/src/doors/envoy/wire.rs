//! The messages, by the numbers of their fields. Only what is served here: fields of other numbers are skipped.
//!
//! Texts are bytes that share the buffer a message came in. Whoever reads one checks that it is text. What is answered is written straight into
//! the buffer that is sent: see [`Written`].

pub(crate) mod auth;
pub(crate) mod health;
pub(crate) mod rate_limit;
mod written;

use bytes::Bytes;

pub(crate) use written::Written;

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
    /// A value that is no text.
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) raw_value: Bytes,
}

/// `google.protobuf.Duration`; also `Timestamp`, which has the same fields.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Duration {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// `google.protobuf.UInt64Value`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct UInt64Value {
    #[prost(uint64, tag = "1")]
    pub(crate) value: u64,
}

/// `google.protobuf.Struct`, whose map is a list of its entries on the wire.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Struct {
    #[prost(message, repeated, tag = "1")]
    pub(crate) fields: Vec<StructEntry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StructEntry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<StructValue>,
}

/// `google.protobuf.Value`, of which one field is set.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StructValue {
    #[prost(double, optional, tag = "2")]
    pub(crate) number: Option<f64>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) text: Option<Bytes>,
}
