//! The request that a proxy describes.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Version};
use tidegate_policy::{PeerCertificate, Tls};
use tonic::Status;

use super::sent::Sent;
use crate::doors::envoy::wire::auth::{AttributeContext, HttpRequest, Peer, TlsSession};
use crate::gateway::Fault;

/// Says whether the body was cut where the filter stops sending it. Envoy writes it, whatever the client wrote.
const PARTIAL: HeaderName = HeaderName::from_static("x-envoy-auth-partial-body");

/// A request, and what is known of its connection.
pub(super) struct Described {
    pub(super) request: Request<Bytes>,
    /// Who sent it, by what the proxy knows; none if that is no IP address.
    pub(super) source: Option<IpAddr>,
    pub(super) tls: Option<Tls>,
    /// How much of its body is there.
    pub(super) sent: Sent,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum Undescribed {
    /// Nothing is described, and the proxy is told.
    Nothing(Status),
    /// Its client wrote what no gateway takes. That must not be an error, or whoever is let pass at errors writes it.
    Fault(Fault),
}

impl From<Fault> for Undescribed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Described {
    /// What `attributes` say.
    pub(super) fn by(attributes: AttributeContext) -> Result<Self, Undescribed> {
        let nothing = |said| Undescribed::Nothing(Status::invalid_argument(said));
        let http = attributes.request.and_then(|request| request.http);
        let http = http.ok_or_else(|| nothing("no HTTP request is described"))?;
        if http.method.is_empty() || http.path.is_empty() {
            return Err(nothing("the request has no method or no path"));
        }
        let source = attributes.source.unwrap_or_default();
        let tls = tls(&http, &source, attributes.tls_session.as_ref());
        let request = request(http)?;
        Ok(Self {
            sent: sent(&request),
            source: address(&source),
            tls,
            request,
        })
    }
}

fn address(source: &Peer) -> Option<IpAddr> {
    let address = source.address.as_ref()?.socket_address.as_ref()?;
    let address: IpAddr = std::str::from_utf8(&address.address).ok()?.parse().ok()?;
    Some(address.to_canonical())
}

fn request(http: HttpRequest) -> Result<Request<Bytes>, Fault> {
    let body = if http.raw_body.is_empty() {
        http.body
    } else {
        http.raw_body
    };
    let mut request = Request::new(body);
    *request.method_mut() = Method::from_bytes(&http.method).map_err(|_| Fault::Target)?;
    let target = PathAndQuery::from_maybe_shared(http.path).map_err(|_| Fault::Target)?;
    *request.uri_mut() = Uri::from(target);
    *request.version_mut() = version(&http.protocol);
    let fields = request.headers_mut();
    for entry in http.headers {
        append(fields, &entry.key, entry.value)?;
    }
    for header in http.header_map.into_iter().flat_map(|map| map.headers) {
        let value = if header.raw_value.is_empty() {
            header.value
        } else {
            header.raw_value
        };
        append(fields, &header.key, value)?;
    }
    if !http.host.is_empty() {
        let host = HeaderValue::from_maybe_shared(http.host).map_err(|_| Fault::Host)?;
        fields.insert(HOST, host);
    }
    Ok(request)
}

/// Adds a field as the client sent it. Those of HTTP/2 that stand for its first line are no fields.
fn append(fields: &mut HeaderMap, name: &Bytes, value: Bytes) -> Result<(), Fault> {
    if name.starts_with(b":") {
        return Ok(());
    }
    let name = HeaderName::from_bytes(name).map_err(|_| Fault::Field)?;
    let value = value.slice_ref(value.trim_ascii());
    let value = HeaderValue::from_maybe_shared(value).map_err(|_| Fault::Field)?;
    fields.try_append(name, value).map_err(|_| Fault::TooManyFields)?;
    Ok(())
}

fn version(protocol: &[u8]) -> Version {
    match protocol {
        b"HTTP/1.0" => Version::HTTP_10,
        b"HTTP/2" | b"HTTP/2.0" => Version::HTTP_2,
        b"HTTP/3" | b"HTTP/3.0" => Version::HTTP_3,
        _ => Version::HTTP_11,
    }
}

/// How much of the body of `request` is there. Where nothing is, the filter may not send bodies at all.
fn sent(request: &Request<Bytes>) -> Sent {
    let fields = request.headers();
    if !request.body().is_empty() {
        let is_part = fields.get(PARTIAL).is_some_and(|partial| partial == "true");
        // Envoy does not say so if it has read exactly what it may, and the rest is still on its way.
        let is_short = fields
            .get(CONTENT_LENGTH)
            .is_some_and(|length| length != request.body().len().to_string().as_str());
        return if is_part || is_short {
            Sent::Part
        } else {
            Sent::All
        };
    }
    let says_none = match fields.get(CONTENT_LENGTH) {
        Some(length) => length == "0",
        None => {
            let method = request.method();
            !fields.contains_key(TRANSFER_ENCODING) && (method.is_safe() || *method == Method::DELETE)
        }
    };
    if says_none { Sent::All } else { Sent::Nothing }
}

fn tls(http: &HttpRequest, source: &Peer, session: Option<&TlsSession>) -> Option<Tls> {
    let certificate = certificate(&source.certificate);
    if session.is_none() && certificate.is_none() && http.scheme != "https" {
        return None;
    }
    let name = session.and_then(|session| std::str::from_utf8(&session.sni).ok());
    let mut tls = Tls::default();
    tls.server_name = name
        .filter(|name| !name.is_empty())
        .map(|name| name.to_ascii_lowercase().into());
    tls.client_certificate = certificate;
    Some(tls)
}

/// The certificate in escaped PEM.
fn certificate(escaped: &[u8]) -> Option<PeerCertificate> {
    if escaped.is_empty() {
        return None;
    }
    let pem: Vec<u8> = percent_encoding::percent_decode(escaped).collect();
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).ok()?;
    crate::tls::certificate(&pem.contents)
}
