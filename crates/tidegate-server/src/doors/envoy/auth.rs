//! `Authorization/Check`: a request, described by its proxy, is decided like one that came to the gateway.

mod described;
mod sent;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tidegate_store::Store;
use tonic::{Code, Status};

use super::told::metadata;
use super::wire::Struct;
use super::wire::auth::{
    CheckRequest, CheckResponse, DeniedHttpResponse, HeaderValueOption, HttpStatus, OkHttpResponse, RpcStatus,
};
use crate::doors::taken_off::TakenOff;
use crate::gateway::Session;
use crate::live::Live;
use crate::pipeline::{Admission, Admitted, Caller};
use crate::record::Record;
use described::Described;

/// Decides about one request.
pub(super) async fn check<S: Store>(
    session: &Session<S>,
    live: &Live,
    asked: CheckRequest,
    record: &mut Record,
) -> Result<CheckResponse, Status> {
    let attributes = asked.attributes.unwrap_or_default();
    let Described {
        mut request,
        source,
        tls,
        sent,
    } = Described::by(attributes)?;
    let gateway = &live.config.gateway;
    let client = match source {
        Some(source) => Some(gateway.client(source, request.headers())),
        None => gateway.client_behind(session.peer, request.headers()),
    };
    let caller = Caller {
        client: client.ok_or_else(|| Status::invalid_argument("the source has no address"))?,
        tls: tls.as_ref(),
        door: &sent,
    };
    let worker = &session.worker;
    let admitting = worker.pipeline.admit(
        live,
        &mut request,
        caller,
        worker.next_hold(),
        record,
        &worker.tokens,
    );
    match admitting.await {
        Admission::Forwarded(admitted, _) => Ok(passed(live, &admitted, &request)),
        Admission::Answered(response) => Ok(denied(response, record.refusal())),
        Admission::Crowded(_) | Admission::Unread(_) => {
            record.refused("too_many_waiting");
            Err(Status::unavailable("too many requests wait for their turn"))
        }
    }
}

/// The answer about a request that may pass.
fn passed(live: &Live, admitted: &Admitted<'_>, request: &http::Request<Bytes>) -> CheckResponse {
    let (mut for_origin, mut for_client) = (HeaderMap::new(), HeaderMap::new());
    admitted.tell_origin(&mut for_origin);
    admitted.mark(&mut for_client);
    let taken = TakenOff::of(live, request.headers(), request.uri(), &for_origin);
    for_origin.extend(taken.changed);
    let removed = taken
        .fields
        .iter()
        .map(|name| Bytes::copy_from_slice(name.as_ref()));
    let ok = OkHttpResponse {
        headers: HeaderValueOption::all_of(&for_origin),
        headers_to_remove: removed.collect(),
        response_headers_to_add: HeaderValueOption::all_of(&for_client),
        query_parameters_to_remove: taken.parameters,
    };
    CheckResponse {
        status: Some(RpcStatus {
            code: Code::Ok as i32,
        }),
        ok_response: Some(ok),
        dynamic_metadata: Some(metadata(admitted.verdict())),
        ..CheckResponse::default()
    }
}

/// The answer about a request that is answered with `response`, because of `error`.
fn denied(response: Response<Bytes>, error: Option<&'static str>) -> CheckResponse {
    let (head, body) = response.into_parts();
    let told = DeniedHttpResponse {
        status: Some(HttpStatus {
            code: i32::from(head.status.as_u16()),
        }),
        headers: HeaderValueOption::all_of(&head.headers),
        body,
    };
    let error = error.unwrap_or_default();
    let metadata = Struct::default()
        .with_text("verdict", "reject")
        .with_text("error", error);
    let denied = CheckResponse {
        dynamic_metadata: Some(metadata),
        ..CheckResponse::default()
    };
    if UNDECIDED.contains(&error) {
        return CheckResponse {
            status: Some(RpcStatus {
                code: Code::Unavailable as i32,
            }),
            error_response: Some(told),
            ..denied
        };
    }
    CheckResponse {
        status: Some(RpcStatus {
            code: code(head.status) as i32,
        }),
        denied_response: Some(told),
        ..denied
    }
}

/// What is said of requests about which nobody could decide.
const UNDECIDED: [&str; 3] = ["limiter_failed", "api_keys_unavailable", "identity_unavailable"];

fn code(status: StatusCode) -> Code {
    match status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
        _ => Code::PermissionDenied,
    }
}
