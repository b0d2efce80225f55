//! A refusal as gRPC clients read it: a response without messages, whose status says why.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{Framing, Told};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// When to call again, in milliseconds; negative: not at all (gRFC A6).
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What `grpc-message` writes with `%`, beside all that is not ASCII (gRPC over HTTP/2, Responses).
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// The flag of the frame of gRPC-Web that carries the status.
const TRAILERS: u8 = 0x80;

/// Makes a gRPC response of `response`: always HTTP 200.
pub(super) fn retell(framing: Framing, told: &Told<'_>, response: &mut Response<Bytes>) {
    let code = code(response.status());
    let message = utf8_percent_encode(told.detail, ENCODED).to_string();
    let pushback = match told.wait_secs {
        Some(secs) => Some(secs.saturating_mul(1000).to_string()),
        None if told.error == "cost_exceeds_limit" => Some("-1".to_owned()),
        None => None,
    };
    *response.status_mut() = StatusCode::OK;
    *response.body_mut() = match framing {
        Framing::Fields => Bytes::new(),
        Framing::Web => frame(code, &message, pushback.as_deref()).into(),
        Framing::WebText => STANDARD.encode(frame(code, &message, pushback.as_deref())).into(),
    };
    let fields = response.headers_mut();
    if framing == Framing::Fields {
        fields.insert(STATUS, HeaderValue::from_static(code));
        fields.insert(
            MESSAGE,
            HeaderValue::try_from(message).unwrap_or(HeaderValue::from_static("")),
        );
    }
    if let Some(pushback) = pushback.and_then(|ms| HeaderValue::try_from(ms).ok()) {
        fields.insert(PUSHBACK, pushback);
    }
}

/// The status code of gRPC (google.rpc.Code) that says what the HTTP status does.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::TOO_MANY_REQUESTS => "8",      // RESOURCE_EXHAUSTED
        StatusCode::UNAUTHORIZED => "16",          // UNAUTHENTICATED
        StatusCode::FORBIDDEN => "7",              // PERMISSION_DENIED
        StatusCode::NOT_FOUND => "12",             // UNIMPLEMENTED
        status if status.is_client_error() => "3", // INVALID_ARGUMENT
        _ => "14",                                 // UNAVAILABLE
    }
}

/// The frame that ends a body of gRPC-Web: a flag, a length, and fields as HTTP/1.1 writes them.
fn frame(code: &str, message: &str, pushback: Option<&str>) -> Vec<u8> {
    let mut fields = format!("{STATUS}:{code}\r\n{MESSAGE}:{message}\r\n");
    if let Some(pushback) = pushback {
        fields += &format!("{PUSHBACK}:{pushback}\r\n");
    }
    let length = u32::try_from(fields.len()).unwrap_or(u32::MAX);
    [&[TRAILERS][..], &length.to_be_bytes(), fields.as_bytes()].concat()
}
