//! One request to the upstream and back.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use tokio::task::coop::unconstrained;

use super::body::{Progress, RequestBody, UploadState, UpstreamBody};
use super::deadline::Deadline;
use super::fault::Fault;
use super::pool::{Link, Pool, Rested};
use super::settings::Timeouts;
use super::stream::Stream;

/// What the upstream answered.
pub(crate) enum Answer {
    /// A response.
    Response(Response<UpstreamBody>),
    /// It switched protocols: the head, the socket, and the first bytes of the new protocol.
    Switched(Response<()>, Stream, Bytes),
}

/// Sends `request` and waits for the head of its response. A connection that turns out to be closed is replaced once, if none of
/// the request was sent, or if sending it twice is the same as once.
pub(crate) async fn forward(
    pool: &Rc<Pool>,
    request: Request<RequestBody>,
    wait: Wait<'_>,
) -> Result<Answer, Fault> {
    let (link, spare) = match pool.rested() {
        Some(Rested {
            link,
            doubtful: false,
        }) => (link, None),
        Some(Rested { link, doubtful: true }) => (link, spare(&request)),
        None => (Box::pin(pool.connect()).await?, None),
    };
    let lost = match exchange(pool, link, request, &wait).await {
        Ok(answer) => return Ok(answer),
        Err(lost) => lost,
    };
    let again = match lost {
        Lost::Unsent(request) => request,
        Lost::Silent => spare.ok_or(Fault::Closed)?,
        Lost::For(fault) => return Err(fault),
    };
    // Boxed like everything rare, so that the future of a usual request stays small: it is copied into place.
    Box::pin(async move {
        let link = pool.connect().await?;
        exchange(pool, link, *again, &wait)
            .await
            .map_err(|lost| match lost {
                Lost::Unsent(_) | Lost::Silent => Fault::Closed,
                Lost::For(fault) => fault,
            })
    })
    .await
}

/// How long a response is waited for.
pub(crate) struct Wait<'a> {
    pub(crate) deadline: &'a Deadline,
    pub(crate) timeouts: &'a Timeouts,
    /// The request's body, if it has one.
    pub(crate) progress: Option<&'a Progress>,
}

impl Wait<'_> {
    fn start(&self) {
        if self.progress.is_none() {
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

/// Why there is no response.
enum Lost {
    /// Nothing of the request was sent.
    Unsent(Box<Request<RequestBody>>),
    /// The connection closed before anything of a response came.
    Silent,
    /// For this reason, and there is no second try.
    For(Fault),
}

/// Sends at once; the future waits for the response. Not an `async fn`, whose future would keep room for the request.
fn exchange<'a>(
    pool: &'a Rc<Pool>,
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
                    Some(request) => Lost::Unsent(Box::new(request)),
                    None => lost(error.error(), wait),
                }));
            }
            if ended {
                return Poll::Ready(Err(Lost::Silent));
            }
            wait.deadline.poll(cx).map(|()| Err(Lost::For(wait.overdue())))
        })
        .await?;
        answer(pool, link, response, wait, asked).map_err(Lost::For)
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
    pool: &Rc<Pool>,
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
        let (stream, early) = link.into_stream();
        return Ok(Answer::Switched(Response::from_parts(head, ()), stream, early));
    }
    let bodiless = asked.head_only || head.status == StatusCode::NOT_MODIFIED;
    check_length(&head.headers, bodiless)?;
    let link = if incoming.is_end_stream() {
        pool.rest(link);
        None
    } else {
        Some(link)
    };
    let body = UpstreamBody {
        incoming,
        link,
        pool: pool.clone(),
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
