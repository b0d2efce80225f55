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
#[cfg(test)]
pub(super) use wire::StructEntry;
pub(super) use wire::{HeaderValue, Struct, StructValue, UInt64Value, rate_limit as messages};

use std::pin::pin;

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
    let answered = {
        let serving = pin!(serve(session, live, request, record));
        call::in_time(allowed, serving).await
    };
    let late = || Status::deadline_exceeded("this call was not answered in the time that it gave");
    answered.unwrap_or_else(|| Err(late())).unwrap_or_else(|status| {
        if record.refusal().is_none() {
            record.refused(word(status.code()));
        }
        call::error(status)
    })
}

async fn serve<S: Store>(
    session: &Session<S>,
    live: &Live,
    request: Request<Incoming>,
    record: &mut Record,
) -> Result<Response<ResponseBody>, Status> {
    let usual = call::MOST_MESSAGE_BYTES;
    match request.uri().path() {
        "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => {
            let asked = call::message(request, usual).await?;
            let decided = rate_limit::decide(session, live, asked, record).await?;
            Ok(call::reply(decided))
        }
        // Boxed, so that the future of the others stays small.
        "/envoy.service.auth.v3.Authorization/Check" => {
            let asked = call::message(request, call::MOST_CHECK_BYTES).await?;
            let decided = Box::pin(auth::check(session, live, asked, record)).await?;
            Ok(call::reply(decided))
        }
        HEALTH => {
            let asked = call::message(request, usual).await?;
            let health = health::check(&asked, session.worker.stopping())?;
            Ok(call::reply(health))
        }
        "/grpc.health.v1.Health/Watch" => {
            let asked = call::message(request, usual).await?;
            Ok(health::watch(&asked, session.worker.clone()))
        }
        _ => Err(Status::unimplemented(
            "this door answers ShouldRateLimit, Check of Authorization, Check and Watch of Health",
        )),
    }
}

/// What the access log and metrics call an error of this code.
fn word(code: Code) -> &'static str {
    match code {
        Code::ResourceExhausted => "call_too_large",
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
