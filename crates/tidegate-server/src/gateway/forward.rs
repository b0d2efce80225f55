//! One request to the upstream and back.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use tidegate_policy::HostRewrite;
use tokio::task::coop::unconstrained;

use super::body::{Progress, RequestBody, UploadState, UpstreamBody};
use super::deadline::Deadline;
use super::fault::Fault;
use super::pool::{Link, Rested};
use super::settings::Timeouts;
use super::stream::Stream;
use super::upstreams::{Members, Turn};

/// What the upstream answered.
pub(crate) enum Answer {
    /// A response.
    Response(Response<UpstreamBody>),
    /// It switched protocols: the head, and what comes after it.
    Switched(Response<()>, Switched),
}

/// A request without a response.
pub(crate) struct Failed {
    pub(crate) fault: Fault,
    /// The server that was asked last.
    pub(crate) index: usize,
}

/// A connection that has switched protocols.
pub(crate) struct Switched {
    pub(crate) stream: Stream,
    /// The first bytes of the new protocol.
    pub(crate) early: Bytes,
    pub(crate) turn: Turn,
}

/// Sends `request` and waits for the head of its response. It is tried once more where that is safe: [`again`] says when. Not an
/// `async fn`, whose future would keep room for the request twice.
pub(crate) fn forward<'a>(
    members: &'a Rc<Members>,
    request: Request<RequestBody>,
    wait: &'a Wait<'a>,
) -> impl Future<Output = Result<Answer, Failed>> + 'a {
    let turn = members.turn();
    let index = turn.index;
    let first = attempt(turn, request, Over::AnyConnection, wait);
    async move {
        match first.await {
            Ok(answer) => Ok(answer),
            // Boxed like everything rare, so that the future of a usual request stays small: it is copied into place.
            Err(failure) => Box::pin(again(members, index, failure, wait)).await,
        }
    }
}

/// How long a response is waited for, and who is asked.
pub(crate) struct Wait<'a> {
    pub(crate) deadline: &'a Deadline,
    pub(crate) timeouts: &'a Timeouts,
    /// The request's body, if it has one.
    pub(crate) progress: Option<&'a Progress>,
    /// The `Host` that the server sees.
    pub(crate) host: &'a HostRewrite,
    /// The time for a response has begun: another try gets no more of it.
    pub(crate) begun: Cell<bool>,
}

impl Wait<'_> {
    fn start(&self) {
        if self.progress.is_none() && !self.begun.replace(true) {
            self.deadline.set(self.timeouts.response);
        }
    }

    /// What it means that the deadline has passed.
    fn overdue(&self) -> Fault {
        match self.progress.map(Progress::upload) {
            Some(UploadState::Client) => Fault::RequestBodyTimeout,
            _ => Fault::ResponseTimeout,
        }
    }
}

/// Which connections may carry a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// One that rested, or a new one.
    AnyConnection,
    NewConnection,
}

/// A try without a response.
struct Failure {
    lost: Lost,
    /// A copy of the request that can be sent if this one was lost on the way.
    spare: Option<Box<Request<RequestBody>>>,
    /// The connection had rested, and the server may have closed it just then: the server has not failed.
    stale: bool,
}

/// Why there is no response.
enum Lost {
    /// Nothing of the request was sent, for this reason.
    Unsent(Box<Request<RequestBody>>, Fault),
    /// The connection closed before anything of a response came.
    Silent,
    /// For this reason, and there is no second try.
    For(Fault),
}

/// Tries once more.
///
/// A resting connection that turned out to be closed is replaced by a new one to the same server. Beyond that a request is tried on
/// another server, as often as the upstream's `retries` and budget say. Either only if nothing of it was sent, or if sending it twice
/// is the same as sending it once. Nothing of a response has reached the client in any of these cases.
async fn again(
    members: &Rc<Members>,
    mut index: usize,
    mut failure: Failure,
    wait: &Wait<'_>,
) -> Result<Answer, Failed> {
    if failure.stale {
        let request = failure.request(members, index)?;
        let same = attempt(members.same(index), *request, Over::NewConnection, wait);
        match same.await {
            Ok(answer) => return Ok(answer),
            Err(another) => failure = another,
        }
    }
    let mut tried = 0;
    for _ in 0..members.retries() {
        tried |= 1 << index;
        let fault = failure.fault();
        let request = failure.request(members, index)?;
        let turn = members.another(tried).ok_or(Failed { fault, index })?;
        index = turn.index;
        match attempt(turn, *request, Over::AnyConnection, wait).await {
            Ok(answer) => return Ok(answer),
            Err(another) => failure = another,
        }
    }
    let fault = failure.fault();
    failure.request(members, index)?;
    Err(Failed { fault, index })
}

impl Failure {
    fn fault(&self) -> Fault {
        match &self.lost {
            Lost::Unsent(_, fault) | Lost::For(fault) => *fault,
            Lost::Silent => Fault::Closed,
        }
    }

    /// The request, if it may be sent again. Whoever has failed is told on.
    fn request(self, members: &Members, index: usize) -> Result<Box<Request<RequestBody>>, Failed> {
        let fault = self.fault();
        if !self.stale && fault.is_of_server() {
            members.failed(index, fault);
        }
        match self.lost {
            Lost::Unsent(request, _) => Ok(request),
            Lost::Silent => self.spare.ok_or(Failed { fault, index }),
            Lost::For(fault) => Err(Failed { fault, index }),
        }
    }
}

/// One try, with a connection that rested or a new one.
async fn attempt(
    turn: Turn,
    mut request: Request<RequestBody>,
    over: Over,
    wait: &Wait<'_>,
) -> Result<Answer, Failure> {
    match wait.host {
        HostRewrite::Preserve => {}
        HostRewrite::Upstream => {
            _ = request
                .headers_mut()
                .insert(HOST, turn.pool().server.host.clone())
        }
        HostRewrite::To(host) => _ = request.headers_mut().insert(HOST, host.clone()),
    }
    let rested = match over {
        Over::AnyConnection => turn.pool().rested(),
        Over::NewConnection => None,
    };
    let may_retry = turn.members().retries() > 0;
    let (link, has_rested, doubtful) = match rested {
        Some(Rested { link, doubtful }) => (link, true, doubtful),
        None => {
            let time = turn.members().connect_within(wait.timeouts.connect);
            match Box::pin(turn.pool().connect(time)).await {
                Ok(link) => (link, false, false),
                Err(fault) => {
                    return Err(Failure {
                        lost: Lost::Unsent(Box::new(request), fault),
                        spare: None,
                        stale: false,
                    });
                }
            }
        }
    };
    let spare = if doubtful || may_retry {
        spare(&request)
    } else {
        None
    };
    exchange(turn, link, request, wait).await.map_err(|lost| Failure {
        stale: match lost {
            Lost::Unsent(..) => has_rested,
            Lost::Silent => doubtful,
            Lost::For(_) => false,
        },
        lost,
        spare,
    })
}

/// Sends at once; the future waits for the response. Not an `async fn`, whose future would keep room for the request.
fn exchange<'a>(
    turn: Turn,
    mut link: Box<Link>,
    request: Request<RequestBody>,
    wait: &'a Wait<'_>,
) -> impl Future<Output = Result<Answer, Lost>> + 'a {
    let asked = Asked {
        upgrade: request.headers().contains_key(UPGRADE),
        head_only: request.method() == Method::HEAD,
    };
    wait.start();
    let sent = link.sender.try_send_request(request);
    async move {
        // Only the connection brings its outcome, and that is driven right here: with a waker, the task would wake itself and be
        // polled once more for nothing. Without one, it must not be put off by tokio's budget either.
        let mut sent = pin!(unconstrained(sent));
        let response = poll_fn(|cx| {
            let ended = link.poll(cx).is_ready();
            if let Poll::Ready(outcome) = sent.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Poll::Ready(outcome.map_err(|mut error| match error.take_message() {
                    Some(request) => Lost::Unsent(Box::new(request), Fault::Closed),
                    None => lost(error.error(), wait),
                }));
            }
            if ended {
                return Poll::Ready(Err(Lost::Silent));
            }
            wait.deadline.poll(cx).map(|()| Err(Lost::For(wait.overdue())))
        })
        .await?;
        answer(turn, link, response, wait, asked).map_err(Lost::For)
    }
}

/// What the request asked for, as far as it decides how its response is read.
struct Asked {
    upgrade: bool,
    head_only: bool,
}

fn lost(error: &hyper::Error, wait: &Wait<'_>) -> Lost {
    match wait.progress.map(Progress::upload) {
        Some(UploadState::Broken) => Lost::For(Fault::RequestBody),
        Some(UploadState::TooSlow) => Lost::For(Fault::RequestBodyTimeout),
        Some(UploadState::TooLong) => Lost::For(Fault::RequestBodyTooLong),
        _ if error.is_parse() => Lost::For(Fault::BadResponse),
        _ => Lost::Silent,
    }
}

fn answer(
    turn: Turn,
    link: Box<Link>,
    response: Response<Incoming>,
    wait: &Wait<'_>,
    asked: Asked,
) -> Result<Answer, Fault> {
    let (mut head, incoming) = response.into_parts();
    head.version = Version::HTTP_11;
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        if !asked.upgrade || !head.headers.contains_key(UPGRADE) {
            return Err(Fault::BadResponse);
        }
        turn.succeeded();
        let (stream, early) = link.into_stream();
        let switched = Switched { stream, early, turn };
        return Ok(Answer::Switched(Response::from_parts(head, ()), switched));
    }
    let bodiless = asked.head_only || head.status == StatusCode::NOT_MODIFIED;
    check_length(&head.headers, bodiless)?;
    turn.succeeded();
    let link = if incoming.is_end_stream() {
        turn.pool().rest(link);
        None
    } else {
        Some(link)
    };
    let body = UpstreamBody {
        incoming,
        link,
        turn,
        deadline: wait.deadline.clone(),
        idle: wait.timeouts.body,
        waiting: false,
    };
    Ok(Answer::Response(Response::from_parts(head, body)))
}

/// Refuses responses whose end two readers could see in two places.
fn check_length(headers: &HeaderMap, bodiless: bool) -> Result<(), Fault> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(Fault::BadResponse);
        }
        if headers.contains_key(CONTENT_LENGTH) && !bodiless {
            return Err(Fault::BadResponse);
        }
        return Ok(());
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else {
        return Ok(());
    };
    if lengths.next().is_some() || !length.as_bytes().iter().all(u8::is_ascii_digit) {
        return Err(Fault::BadResponse);
    }
    Ok(())
}

/// A copy of `request`, if sending it twice is the same as sending it once (RFC 9110 section 9.2.2) and it has no body.
fn spare(request: &Request<RequestBody>) -> Option<Box<Request<RequestBody>>> {
    if !request.body().is_empty() || !request.method().is_idempotent() {
        return None;
    }
    let mut copy = Request::new(RequestBody::EMPTY);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(Box::new(copy))
}
