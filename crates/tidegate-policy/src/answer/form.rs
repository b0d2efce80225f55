//! The forms of a refusal: one problem document, told to programs, people and gRPC clients.

mod grpc;
mod page;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

/// What a refusal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `application/json`: the problem document.
    Json,
    /// `application/problem+json`: the same.
    Problem,
    /// A page for people.
    Html,
    /// Its `detail`, for whoever likes texts.
    Plain,
    /// The status of a gRPC call.
    Grpc(Framing),
}

/// How gRPC messages lie in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// gRPC over HTTP/2: the status is in header fields.
    Fields,
    /// gRPC-Web: the status is the last frame of the body.
    Web,
    /// The same as base64.
    WebText,
}

/// What the forms tell, from the members of a problem document.
struct Told<'d> {
    title: &'d str,
    detail: &'d str,
    /// The `error`: `rate_limit_exceeded`.
    error: &'d str,
    wait_secs: Option<u64>,
}

impl Form {
    /// The media type of a problem document; that of other forms comes with them.
    pub(super) fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Problem => "application/problem+json",
            Self::Html => "text/html; charset=utf-8",
            Self::Plain => "text/plain; charset=utf-8",
            Self::Json => "application/json",
            Self::Grpc(Framing::Fields) => "application/grpc",
            Self::Grpc(Framing::Web) => "application/grpc-web+proto",
            Self::Grpc(Framing::WebText) => "application/grpc-web-text+proto",
        })
    }

    /// The response of this form whose problem document is `document`. `fields` tell all but the body already.
    pub(super) fn response(self, status: StatusCode, fields: HeaderMap, document: Bytes) -> Response<Bytes> {
        let mut response = Response::new(document);
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        if !matches!(self, Self::Json | Self::Problem) {
            self.retell(&mut response);
        }
        response
    }

    /// Tells what the problem document in `response` says in this form.
    fn retell(self, response: &mut Response<Bytes>) {
        let document: Value = serde_json::from_slice(response.body()).unwrap_or_default();
        let told = Told::of(&document);
        let status = response.status();
        match self {
            Self::Json | Self::Problem => {}
            Self::Html => {
                page::security(response.headers_mut());
                *response.body_mut() = page::page(status, &told).into();
            }
            Self::Plain => *response.body_mut() = format!("{}\n", told.detail).into(),
            Self::Grpc(framing) => grpc::retell(framing, &told, response),
        }
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, self.media_type());
    }
}

impl<'d> Told<'d> {
    fn of(document: &'d Value) -> Self {
        let text = |member| document.get(member).and_then(Value::as_str).unwrap_or_default();
        Self {
            title: text("title"),
            detail: text("detail"),
            error: text("error"),
            wait_secs: document.get("retry_after").and_then(Value::as_u64),
        }
    }
}
