//! gRPC of Envoy: its rate limit service, its external authorization, and the health of both.
//!
//! What cannot be decided is an error of the call, never an answer that says so: Envoy lets pass what it is told nothing about, and of
//! an error its own configuration says what becomes.

mod auth;
mod call;
mod health;
mod rate_limit;
mod told;
mod wire;

pub(super) use rate_limit::{MOST_DESCRIPTORS, MOST_ENTRIES, MOST_TEXT_BYTES, decide};
pub(super) use told::refusal;
pub(super) use wire::{UInt64Value, rate_limit as messages};

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tidegate_store::Store;
use tonic::{Code, Status};

use crate::gateway::{ResponseBody, Session};
use crate::live::Live;
use crate::record::Record;

/// Where the health of the services is asked for.
pub(crate) const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// Answers a call.
pub(crate) async fn answer<S: Store>(
    session: &Session<S>,
    live: &Live,
    request: Request<Incoming>,
    record: &mut Record,
) -> Response<ResponseBody> {
    if !call::is_call(&request) {
        record.refused("no_grpc");
        return no_grpc();
    }
    let allowed = call::time_allowed(request.headers());
    let serving = serve(session, live, request, record);
    let response = match call::in_time(allowed, serving).await {
        Some(response) => response,
        None => Status::deadline_exceeded("this call was not answered in the time that it gave").into_http(),
    };
    if let Some(status) = response.extensions().get::<Status>()
        && record.refusal().is_none()
    {
        record.refused(word(status.code()));
    }
    response.map(ResponseBody::call)
}

async fn serve<S: Store>(
    session: &Session<S>,
    live: &Live,
    request: Request<Incoming>,
    record: &mut Record,
) -> Response<tonic::body::Body> {
    let usual = call::MOST_MESSAGE_BYTES;
    match request.uri().path() {
        "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => {
            call::unary(request, usual, |asked| {
                rate_limit::decide(session, live, asked, record)
            })
            .await
        }
        // Boxed, so that the future of the others stays small.
        "/envoy.service.auth.v3.Authorization/Check" => {
            let most = call::MOST_CHECK_BYTES;
            call::unary(request, most, |asked| {
                Box::pin(auth::check(session, live, asked, record))
            })
            .await
        }
        HEALTH => {
            let leaving = session.worker.leaving();
            call::unary(
                request,
                usual,
                |asked| async move { health::check(&asked, leaving) },
            )
            .await
        }
        _ => Status::unimplemented(
            "this door answers ShouldRateLimit, Check of Authorization and Check of Health",
        )
        .into_http(),
    }
}

/// What the access log and metrics call an error of this code.
fn word(code: Code) -> &'static str {
    match code {
        Code::OutOfRange | Code::ResourceExhausted => "call_too_large",
        Code::Unimplemented | Code::NotFound => "unknown_call",
        Code::DeadlineExceeded => "call_timeout",
        _ => "bad_call",
    }
}

/// The answer to whoever speaks something else.
fn no_grpc() -> Response<ResponseBody> {
    let text = "This door speaks gRPC, with Envoy's services.\n";
    let mut response = Response::new(ResponseBody::whole(text.into()));
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}
