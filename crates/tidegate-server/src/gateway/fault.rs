//! Everything that goes wrong on the way, and the one function that makes a response of it.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use tidegate_policy::Liking;

use super::body::ResponseBody;
use crate::pipeline::NotRead;

/// Why a request got no response of the origin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `CONNECT`.
    Connect,
    /// A target that is neither a path, nor an `http` URL, nor `*` with `OPTIONS`.
    Target,
    /// The target is longer than the bound.
    TargetTooLong,
    /// `Host` is missing, doubled, malformed, or not what the target says.
    Host,
    /// Another listener serves this host, and asks for certificates there.
    Misdirected,
    /// More header fields than the bound.
    TooManyFields,
    /// A field's value begins or ends with white space.
    Padded,
    /// A field's name or value has characters that it may not have; only doors see one.
    Field,
    /// `Transfer-Encoding` twice, or beside `Content-Length`.
    Framing,
    /// A transfer coding other than `chunked`.
    Coding,
    /// `Expect` with something other than `100-continue`.
    Expectation,
    /// The request's body broke off or was malformed.
    RequestBody,
    /// The request's body stopped coming.
    RequestBodyTimeout,
    /// The request's body is longer than the bound.
    RequestBodyTooLong,
    /// Too many bytes of bodies are held for policies.
    TooManyBodies,
    /// The client's address has too many requests and connections.
    TooManyAtOnce,
    /// Too many requests wait for their leaky bucket.
    Crowded,
    /// The worker has more to do than it can do in time.
    Overloaded,
    /// No route matches, and there is no upstream for the rest.
    NoRoute,
    /// No connection to the upstream.
    Unreachable,
    /// The upstream's certificate is not the right one, or TLS with it cannot be agreed on.
    Tls,
    /// No connection to the upstream in time.
    ConnectTimeout,
    /// The upstream's connections are all taken.
    Busy,
    /// The upstream closed the connection before its response began.
    Closed,
    /// The upstream's response is malformed.
    BadResponse,
    /// No head of a response in time.
    ResponseTimeout,
}

/// Whether the connection can carry another request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Keep,
    Close,
}

impl From<NotRead> for Fault {
    fn from(not_read: NotRead) -> Self {
        match not_read {
            NotRead::Broken => Self::RequestBody,
            NotRead::Late => Self::RequestBodyTimeout,
            NotRead::TooLong => Self::RequestBodyTooLong,
            NotRead::Crowded => Self::TooManyBodies,
        }
    }
}

impl Fault {
    /// The response, in the form that the client likes best; its `error` names the reason.
    pub(crate) fn response(self, liking: &Liking) -> Response<ResponseBody> {
        let (.., after) = self.told();
        let mut response = self.in_words(liking).map(ResponseBody::whole);
        if after == After::Close {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    /// The same for a client whose connection is somebody else's.
    pub(crate) fn in_words(self, liking: &Liking) -> Response<Bytes> {
        let (status, error, detail, _) = self.told();
        let title = status.canonical_reason().unwrap_or_default();
        let code = status.as_u16();
        let document = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{code},"error":"{error}","detail":"{detail}","message":"{detail}"}}"#
        );
        let mut response = liking.tell(status, document.into());
        if self == Self::Overloaded {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    /// The word in `error`.
    pub(crate) fn error(self) -> &'static str {
        self.told().1
    }

    /// Whether the server that was asked is to blame.
    pub(crate) fn is_of_server(self) -> bool {
        self.is_upstream() && self != Self::Busy
    }

    /// Whether it is the upstream's, and not the client's.
    pub(crate) fn is_upstream(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Tls
                | Self::ConnectTimeout
                | Self::Busy
                | Self::Closed
                | Self::BadResponse
                | Self::ResponseTimeout
        )
    }

    fn told(self) -> (StatusCode, &'static str, &'static str, After) {
        use After::{Close, Keep};
        match self {
            Self::Connect => (
                StatusCode::NOT_IMPLEMENTED,
                "connect_refused",
                "This gateway opens no tunnels to elsewhere.",
                Close,
            ),
            Self::Target => (
                StatusCode::BAD_REQUEST,
                "bad_target",
                "The request target is not understood.",
                Close,
            ),
            Self::TargetTooLong => (
                StatusCode::URI_TOO_LONG,
                "target_too_long",
                "The request target is longer than this gateway takes.",
                Close,
            ),
            Self::Host => (
                StatusCode::BAD_REQUEST,
                "bad_host",
                "A request names its host once, and the same everywhere.",
                Close,
            ),
            Self::Misdirected => (
                StatusCode::MISDIRECTED_REQUEST,
                "misdirected",
                "This host is served over a connection of its own.",
                Close,
            ),
            Self::TooManyFields => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "too_many_fields",
                "The request has more header fields than this gateway takes.",
                Close,
            ),
            Self::Padded => (
                StatusCode::BAD_REQUEST,
                "padded_field",
                "The value of a header field begins or ends with white space.",
                Close,
            ),
            Self::Field => (
                StatusCode::BAD_REQUEST,
                "bad_field",
                "The name or the value of a header field is not understood.",
                Close,
            ),
            Self::Framing => (
                StatusCode::BAD_REQUEST,
                "bad_framing",
                "The length of the request body is said in two ways.",
                Close,
            ),
            Self::Coding => (
                StatusCode::NOT_IMPLEMENTED,
                "unknown_transfer_coding",
                "The only transfer coding understood is chunked.",
                Close,
            ),
            Self::Expectation => (
                StatusCode::EXPECTATION_FAILED,
                "unknown_expectation",
                "The only expectation understood is 100-continue.",
                Close,
            ),
            Self::RequestBody => (
                StatusCode::BAD_REQUEST,
                "request_body_broken",
                "The request body is malformed or incomplete.",
                Close,
            ),
            Self::RequestBodyTimeout => (
                StatusCode::REQUEST_TIMEOUT,
                "request_body_timeout",
                "The request body stopped coming.",
                Close,
            ),
            Self::RequestBodyTooLong => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_body_too_long",
                "The request body is longer than this gateway takes.",
                Close,
            ),
            Self::TooManyBodies => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_bodies",
                "Too many request bodies are being read.",
                Close,
            ),
            Self::TooManyAtOnce => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_at_once",
                "Too many requests of this address are being answered.",
                Keep,
            ),
            Self::Crowded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_waiting",
                "Too many requests are waiting for their turn.",
                Keep,
            ),
            Self::Overloaded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "More is asked here than can be answered in time.",
                Keep,
            ),
            Self::NoRoute => (
                StatusCode::NOT_FOUND,
                "no_route",
                "Nothing is served under this host and path.",
                Keep,
            ),
            Self::Tls => (
                StatusCode::BAD_GATEWAY,
                "upstream_tls_failed",
                "The upstream could not prove who it is, or speaks no TLS.",
                Keep,
            ),
            Self::Unreachable => (
                StatusCode::BAD_GATEWAY,
                "upstream_unreachable",
                "The upstream takes no connection.",
                Keep,
            ),
            Self::ConnectTimeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "upstream_connect_timeout",
                "The upstream took no connection in time.",
                Keep,
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "upstream_busy",
                "All connections to the upstream are taken.",
                Keep,
            ),
            Self::Closed => (
                StatusCode::BAD_GATEWAY,
                "upstream_closed",
                "The upstream closed the connection without a response.",
                Keep,
            ),
            Self::BadResponse => (
                StatusCode::BAD_GATEWAY,
                "upstream_bad_response",
                "The upstream's response is malformed.",
                Keep,
            ),
            Self::ResponseTimeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "upstream_response_timeout",
                "The upstream did not respond in time.",
                Keep,
            ),
        }
    }
}
