//! HTTP of proxies that ask with a sub-request: whether the request that it describes may pass.
//!
//! The path says who asks, and so where the described request is found. Never is one thing looked for in two places: what a proxy does
//! not write into one of them, its client may.

mod api;
mod dialect;
mod misasked;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use tidegate_policy::{Liking, Tls};
use tidegate_store::Store;

use super::Sent;
use super::taken_off::TakenOff;
use crate::gateway::{Fault, ResponseBody, Session};
use crate::live::Live;
use crate::pipeline::{Admission, Caller};
use crate::record::Record;
use dialect::{Denial, Dialect};
use misasked::Misasked;

pub use api::{charges_of_question, descriptors_of_call};

/// The status that is meant, where a proxy must be told another.
const MEANT: HeaderName = HeaderName::from_static("x-tidegate-status");

/// Names a field that Envoy takes off the request before it goes on.
const TAKE_OFF: HeaderName = HeaderName::from_static("x-envoy-auth-headers-to-remove");

/// Where balancers ask whether the door is open.
pub(crate) const HEALTH: &str = "/healthz";

/// Answers what is asked at this door.
pub(crate) async fn answer<S: Store>(
    session: &Session<S>,
    live: &Live,
    request: Request<Incoming>,
    record: &mut Record,
) -> Response<ResponseBody> {
    if request.uri().path() == HEALTH {
        return health(session.worker.stopping());
    }
    if api::is_at(request.uri().path()) {
        return Box::pin(api::answer(session, live, request, record)).await;
    }
    let liking = Liking::of(request.method(), request.headers());
    let Some(dialect) = Dialect::at(request.uri().path()) else {
        record.refused(Misasked::Path.word());
        return Misasked::Path.response(&liking).map(ResponseBody::whole);
    };
    match ask(session, live, (dialect, request), record).await {
        Ok(response) => response.map(ResponseBody::whole),
        Err(Unasked::Misasked(misasked)) => {
            record.refused(misasked.word());
            misasked.response(&liking).map(ResponseBody::whole)
        }
        Err(Unasked::Fault(fault)) => {
            record.refused(fault.error());
            let response = fault.response(&liking);
            // Its client is to blame, and must not be taken for a failure: some proxies let requests pass while we fail.
            if response.status().is_client_error() {
                return dialect.denial.of(response);
            }
            response
        }
    }
}

/// Whether questions are welcome. A process that left its place to the next is still well: where it listened, somebody serves.
fn health(is_stopping: bool) -> Response<ResponseBody> {
    let (status, told) = if is_stopping {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ok\n")
    };
    let mut response = Response::new(ResponseBody::whole(told.into()));
    *response.status_mut() = status;
    response
}

/// Why a sub-request gets no decision.
enum Unasked {
    /// The proxy does not describe a request.
    Misasked(Misasked),
    /// What it describes is none that a gateway would take.
    Fault(Fault),
}

impl From<Misasked> for Unasked {
    fn from(misasked: Misasked) -> Self {
        Self::Misasked(misasked)
    }
}

impl From<Fault> for Unasked {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

async fn ask<S: Store>(
    session: &Session<S>,
    live: &Live,
    (dialect, request): (&Dialect, Request<Incoming>),
    record: &mut Record,
) -> Result<Response<Bytes>, Unasked> {
    let client = live.config.gateway.client_behind(session.peer, request.headers());
    let mut described = dialect.described(request)?;
    session.normalize(live, &mut described)?;
    let tls = dialect.is_secure(described.headers()).then(Tls::default);
    let caller = Caller {
        client: client.ok_or(Misasked::Client)?,
        tls: tls.as_ref(),
        door: &Sent::with(described.headers(), session.reader()),
    };
    let worker = &session.worker;
    let hold = worker.next_hold();
    let admission = worker
        .pipeline
        .admit(live, &mut described, caller, hold, record, &worker.tokens);
    match admission.await {
        Admission::Forwarded(admitted, _) => {
            let mut fields = HeaderMap::new();
            admitted.tell_origin(&mut fields);
            if dialect.takes_off {
                take_off(live, &described, &mut fields);
            }
            admitted.mark(&mut fields);
            let mut response = Response::new(Bytes::new());
            *response.headers_mut() = fields;
            Ok(response)
        }
        Admission::Answered(response) => Ok(dialect.denial.of(response)),
        Admission::Crowded(_) => Err(Fault::Crowded.into()),
        Admission::Unread(not_read) => Err(Fault::from(not_read).into()),
    }
}

/// Says, beside what `fields` say to the origin, which fields of `described` are not for it.
fn take_off<B>(live: &Live, described: &Request<B>, fields: &mut HeaderMap) {
    let taken = TakenOff::of(live, described.headers(), described.uri(), fields);
    fields.extend(taken.changed);
    for name in taken.fields {
        fields.append(TAKE_OFF, name.into());
    }
}

impl Denial {
    /// The answer to a proxy, for the `response` that its client is to get.
    fn of<B>(self, mut response: Response<B>) -> Response<B> {
        let meant = response.status();
        if !self.understands(meant) {
            *response.status_mut() = StatusCode::FORBIDDEN;
            response
                .headers_mut()
                .insert(MEANT, HeaderValue::from(meant.as_u16()));
        }
        response
    }
}
