//! `Authorization/Check`: a request, described by its proxy, is decided like one that came to the gateway.

mod described;
mod sent;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use tidegate_policy::Liking;
use tidegate_store::Store;
use tonic::{Code, Status};

use super::told::metadata;
use super::wire::Written;
use super::wire::auth::{CODE, CheckRequest, denied, ok, response};
use crate::doors::taken_off::TakenOff;
use crate::gateway::Session;
use crate::live::Live;
use crate::pipeline::{Admission, Admitted, Caller};
use crate::record::Record;
use described::{Described, Undescribed};

/// Decides about one request.
pub(super) async fn check<S: Store>(
    session: &Session<S>,
    live: &Live,
    asked: CheckRequest,
    record: &mut Record,
) -> Result<Written, Status> {
    let described = Described::by(asked.attributes.unwrap_or_default()).and_then(|mut described| {
        session.normalize(live, &mut described.request)?;
        Ok(described)
    });
    let Described {
        mut request,
        source,
        tls,
        sent,
    } = match described {
        Ok(described) => described,
        Err(Undescribed::Nothing(status)) => return Err(status),
        Err(Undescribed::Fault(fault)) => {
            record.refused(fault.error());
            // Nobody knows what the client likes: its fields may be what is wrong.
            let liking = Liking::of(&Method::GET, &HeaderMap::new());
            let words = fault.in_words(&liking);
            return Ok(denied(&words, Some(fault.error())));
        }
    };
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
        Admission::Answered(response) => Ok(denied(&response, record.refusal())),
        Admission::Crowded(_) | Admission::Unread(_) => {
            record.refused("too_many_waiting");
            Err(Status::unavailable("too many requests wait for their turn"))
        }
    }
}

/// The answer about a request that may pass.
fn passed(live: &Live, admitted: &Admitted<'_>, request: &http::Request<Bytes>) -> Written {
    let (mut for_origin, mut for_client) = (HeaderMap::new(), HeaderMap::new());
    admitted.tell_origin(&mut for_origin);
    admitted.mark(&mut for_client);
    let taken = TakenOff::of(live, request.headers(), request.uri(), &for_origin);
    for_origin.extend(taken.changed);
    let mut answer = Written::new();
    answer.message(response::STATUS, |status| status.number(CODE, Code::Ok as u64));
    answer.message(response::OK_RESPONSE, |told| {
        told.fields_in_place(ok::HEADERS, &for_origin);
        for name in &taken.fields {
            told.item(ok::HEADERS_TO_REMOVE, name.as_ref());
        }
        told.fields_in_place(ok::RESPONSE_HEADERS_TO_ADD, &for_client);
        for name in &taken.parameters {
            told.item(ok::QUERY_PARAMETERS_TO_REMOVE, name);
        }
    });
    answer.message(response::DYNAMIC_METADATA, |told| {
        metadata(admitted.verdict(), told);
    });
    answer
}

/// The answer about a request that is answered with `given`, because of `error`.
fn denied(given: &Response<Bytes>, error: Option<&'static str>) -> Written {
    let error = error.unwrap_or_default();
    let (code, kind) = if UNDECIDED.contains(&error) {
        (Code::Unavailable, response::ERROR_RESPONSE)
    } else {
        (code(given.status()), response::DENIED_RESPONSE)
    };
    let mut answer = Written::new();
    answer.message(response::STATUS, |status| status.number(CODE, code as u64));
    answer.message(kind, |told| {
        told.message(denied::STATUS, |status| {
            status.number(CODE, given.status().as_u16().into());
        });
        told.fields_in_place(denied::HEADERS, given.headers());
        told.bytes(denied::BODY, given.body());
    });
    answer.message(response::DYNAMIC_METADATA, |told| {
        told.text_of_struct("verdict", "reject");
        told.text_of_struct("error", error);
    });
    answer
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
