//! `envoy.service.auth.v3`.

use bytes::Bytes;

use super::HeaderValue;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) attributes: Option<AttributeContext>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(crate) request: Option<RequestAttributes>,
    #[prost(message, optional, tag = "12")]
    pub(crate) tls_session: Option<TlsSession>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(crate) address: Option<Address>,
    /// PEM with everything but letters and digits escaped by `%`.
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) certificate: Bytes,
}

/// `envoy.config.core.v3.Address`, of those kinds that have an IP address.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Address {
    #[prost(message, optional, tag = "1")]
    pub(crate) socket_address: Option<SocketAddress>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SocketAddress {
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) address: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RequestAttributes {
    #[prost(message, optional, tag = "2")]
    pub(crate) http: Option<HttpRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HttpRequest {
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) method: Bytes,
    /// A map, which is a list of its entries on the wire.
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<MapEntry>,
    /// With the query.
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) path: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) host: Bytes,
    #[prost(bytes = "bytes", tag = "6")]
    pub(crate) scheme: Bytes,
    /// `HTTP/1.1`.
    #[prost(bytes = "bytes", tag = "10")]
    pub(crate) protocol: Bytes,
    #[prost(bytes = "bytes", tag = "11")]
    pub(crate) body: Bytes,
    #[prost(bytes = "bytes", tag = "12")]
    pub(crate) raw_body: Bytes,
    /// Stands for `headers` if the filter says `encode_raw_headers`.
    #[prost(message, optional, tag = "13")]
    pub(crate) header_map: Option<RawHeaders>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MapEntry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
}

/// `envoy.config.core.v3.HeaderMap`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RawHeaders {
    #[prost(message, repeated, tag = "1")]
    pub(crate) headers: Vec<HeaderValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TlsSession {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) sni: Bytes,
}

/// The fields of `CheckResponse`. Of those that have a response, one is there.
pub(crate) mod response {
    pub(crate) const STATUS: u32 = 1;
    pub(crate) const DENIED_RESPONSE: u32 = 2;
    pub(crate) const OK_RESPONSE: u32 = 3;
    pub(crate) const DYNAMIC_METADATA: u32 = 4;
    /// It could not be decided.
    pub(crate) const ERROR_RESPONSE: u32 = 5;
}

/// The field of `google.rpc.Status`, and of `envoy.type.v3.HttpStatus`.
pub(crate) const CODE: u32 = 1;

/// The fields of `DeniedHttpResponse`.
pub(crate) mod denied {
    pub(crate) const STATUS: u32 = 1;
    pub(crate) const HEADERS: u32 = 2;
    pub(crate) const BODY: u32 = 3;
}

/// The fields of `OkHttpResponse`.
pub(crate) mod ok {
    /// For the origin.
    pub(crate) const HEADERS: u32 = 2;
    pub(crate) const HEADERS_TO_REMOVE: u32 = 5;
    /// For the client.
    pub(crate) const RESPONSE_HEADERS_TO_ADD: u32 = 6;
    pub(crate) const QUERY_PARAMETERS_TO_REMOVE: u32 = 8;
}
