//! `envoy.service.auth.v3`.

use bytes::Bytes;
use http::HeaderMap;

use super::{HeaderValue, Struct};

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

/// Of the last three but one, one is there.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<RpcStatus>,
    #[prost(message, optional, tag = "2")]
    pub(crate) denied_response: Option<DeniedHttpResponse>,
    #[prost(message, optional, tag = "3")]
    pub(crate) ok_response: Option<OkHttpResponse>,
    #[prost(message, optional, tag = "4")]
    pub(crate) dynamic_metadata: Option<Struct>,
    /// It could not be decided.
    #[prost(message, optional, tag = "5")]
    pub(crate) error_response: Option<DeniedHttpResponse>,
}

/// `google.rpc.Status`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) headers: Vec<HeaderValueOption>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) body: Bytes,
}

/// `envoy.type.v3.HttpStatus`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct HttpStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OkHttpResponse {
    /// For the origin.
    #[prost(message, repeated, tag = "2")]
    pub(crate) headers: Vec<HeaderValueOption>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub(crate) headers_to_remove: Vec<Bytes>,
    /// For the client.
    #[prost(message, repeated, tag = "6")]
    pub(crate) response_headers_to_add: Vec<HeaderValueOption>,
    #[prost(bytes = "bytes", repeated, tag = "8")]
    pub(crate) query_parameters_to_remove: Vec<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderValueOption {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<HeaderValue>,
    #[prost(int32, tag = "3")]
    pub(crate) append_action: i32,
}

/// `OVERWRITE_IF_EXISTS_OR_ADD`.
const OVERWRITE: i32 = 2;

impl HeaderValueOption {
    /// Each of `fields`, in the place of what there is under its name.
    pub(crate) fn all_of(fields: &HeaderMap) -> Vec<Self> {
        let options = HeaderValue::all_of(fields).into_iter().map(|header| Self {
            header: Some(header),
            append_action: OVERWRITE,
        });
        options.collect()
    }
}
