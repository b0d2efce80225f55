//! Answers to requests that nobody could decide about.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};

/// Why nobody could decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unable {
    /// Nothing says who sent the request.
    ClientUnknown,
    /// Too many requests wait for their leaky bucket.
    #[cfg(feature = "local")]
    Crowded,
    /// The service does not decide.
    #[cfg(feature = "remote")]
    Failed,
    /// The service does not understand the request.
    #[cfg(feature = "remote")]
    Unreadable,
}

impl Unable {
    /// A problem document (RFC 9457), or the status alone for a call of gRPC.
    pub(crate) fn answer(self, request: &Parts) -> Response<Bytes> {
        let content_type = request.headers.get(header::CONTENT_TYPE);
        let mut response = match content_type {
            Some(kind) if is_grpc(kind) => self.call(kind),
            _ => self.problem(),
        };
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, no_store);
        response
    }

    fn call(self, kind: &HeaderValue) -> Response<Bytes> {
        let (status, _, detail) = self.told();
        // INVALID_ARGUMENT, or UNAVAILABLE.
        let code = if status == StatusCode::BAD_REQUEST {
            "3"
        } else {
            "14"
        };
        let mut response = Response::new(Bytes::new());
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_TYPE, kind.clone());
        fields.insert("grpc-status", HeaderValue::from_static(code));
        fields.insert("grpc-message", HeaderValue::from_static(detail));
        response
    }

    fn problem(self) -> Response<Bytes> {
        let (status, error, detail) = self.told();
        let title = status.canonical_reason().unwrap_or_default();
        let code = status.as_u16();
        let document = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{code},"error":"{error}","detail":"{detail}","message":"{detail}"}}"#
        );
        let mut response = Response::new(document.into());
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn told(self) -> (StatusCode, &'static str, &'static str) {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match self {
            Self::ClientUnknown => (
                unavailable,
                "client_unknown",
                "Nothing says who sent this request.",
            ),
            #[cfg(feature = "local")]
            Self::Crowded => (
                unavailable,
                "too_many_waiting",
                "Too many requests are waiting for their turn.",
            ),
            #[cfg(feature = "remote")]
            Self::Failed => (unavailable, "limiter_failed", "The rate limiter did not answer."),
            #[cfg(feature = "remote")]
            Self::Unreadable => (
                StatusCode::BAD_REQUEST,
                "request_unclear",
                "The rate limiter does not understand this request.",
            ),
        }
    }
}

fn is_grpc(kind: &HeaderValue) -> bool {
    let rest = kind.as_bytes().strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| !rest.starts_with(b"-web"))
}
