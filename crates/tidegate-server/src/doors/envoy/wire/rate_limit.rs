//! `envoy.service.ratelimit.v3`.

use bytes::Bytes;

use super::{Duration, HeaderValue, Struct, UInt64Value};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RateLimitRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) domain: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub(crate) descriptors: Vec<RateLimitDescriptor>,
    /// 0: it does not say.
    #[prost(uint32, tag = "3")]
    pub(crate) hits_addend: u32,
}

/// `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RateLimitDescriptor {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<Entry>,
    #[prost(message, optional, tag = "2")]
    pub(crate) limit: Option<RateLimitOverride>,
    /// 0 only looks.
    #[prost(message, optional, tag = "3")]
    pub(crate) hits_addend: Option<UInt64Value>,
    /// The hits are given back.
    #[prost(bool, tag = "4")]
    pub(crate) is_negative_hits: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Entry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
}

/// A limit that the call brings along.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct RateLimitOverride {
    #[prost(uint32, tag = "1")]
    pub(crate) requests_per_unit: u32,
    /// `envoy.type.v3.RateLimitUnit`, which has no week.
    #[prost(int32, tag = "2")]
    pub(crate) unit: i32,
}

/// The fields of [`RateLimitResponse`], by which it is written.
pub(crate) mod response {
    pub(crate) const OVERALL_CODE: u32 = 1;
    pub(crate) const STATUSES: u32 = 2;
    pub(crate) const RESPONSE_HEADERS_TO_ADD: u32 = 3;
    pub(crate) const RAW_BODY: u32 = 5;
    pub(crate) const DYNAMIC_METADATA: u32 = 6;
}

/// The fields of [`DescriptorStatus`].
pub(crate) mod status {
    pub(crate) const CODE: u32 = 1;
    pub(crate) const CURRENT_LIMIT: u32 = 2;
    pub(crate) const LIMIT_REMAINING: u32 = 3;
    pub(crate) const DURATION_UNTIL_RESET: u32 = 4;
}

/// The fields of [`RateLimit`].
pub(crate) mod current {
    pub(crate) const REQUESTS_PER_UNIT: u32 = 1;
    pub(crate) const UNIT: u32 = 2;
    pub(crate) const NAME: u32 = 3;
}

/// The fields of [`Duration`].
pub(crate) mod duration {
    pub(crate) const SECONDS: u32 = 1;
    pub(crate) const NANOS: u32 = 2;
}

/// The answer, as whoever speaks the JSON of the protocol reads it again.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RateLimitResponse {
    #[prost(enumeration = "Code", tag = "1")]
    pub(crate) overall_code: i32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) statuses: Vec<DescriptorStatus>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) response_headers_to_add: Vec<HeaderValue>,
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) raw_body: Bytes,
    #[prost(message, optional, tag = "6")]
    pub(crate) dynamic_metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DescriptorStatus {
    #[prost(enumeration = "Code", tag = "1")]
    pub(crate) code: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) current_limit: Option<RateLimit>,
    #[prost(uint32, tag = "3")]
    pub(crate) limit_remaining: u32,
    #[prost(message, optional, tag = "4")]
    pub(crate) duration_until_reset: Option<Duration>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RateLimit {
    #[prost(uint32, tag = "1")]
    pub(crate) requests_per_unit: u32,
    #[prost(enumeration = "Unit", tag = "2")]
    pub(crate) unit: i32,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) name: Bytes,
}

/// What was decided. The protocol's 0 means that nobody knows, and Envoy lets pass what it is said of: it is never said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Code {
    Unknown = 0,
    Ok = 1,
    OverLimit = 2,
}

/// The unit of a limit in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Unit {
    Unknown = 0,
    Second = 1,
    Minute = 2,
    Hour = 3,
    Day = 4,
    Month = 5,
    Year = 6,
    Week = 7,
}
