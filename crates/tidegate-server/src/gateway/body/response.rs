//! What a client is sent.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::BodyError;
use crate::gateway::client::InFlight;
use crate::gateway::deadline::Deadline;
use crate::gateway::fields::strip_trailers;
use crate::gateway::pool::Link;
use crate::gateway::upstreams::Turn;
use crate::pipeline::Hold;
use crate::record::Record;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The upstream's body on its way to the client, and the connection it comes over.
pub(crate) struct UpstreamBody {
    pub(in crate::gateway) incoming: Incoming,
    /// None once it is back in the pool, or useless.
    pub(in crate::gateway) link: Option<Box<Link>>,
    pub(in crate::gateway) turn: Turn,
    pub(in crate::gateway) deadline: Deadline,
    pub(in crate::gateway) idle: Duration,
    pub(in crate::gateway) waiting: bool,
}

impl UpstreamBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        // Frames come only from the connection, and that is driven right here: neither needs to wake the task for the other.
        let mut quiet = Context::from_waker(Waker::noop());
        if let Some(link) = &self.link {
            link.silence();
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(&mut quiet) {
            return self.came(frame);
        }
        // The first look told the connection that its bytes are wanted; now it may read them.
        if let Some(link) = &mut self.link {
            if link.poll(cx).is_ready() {
                self.link = None;
            }
            if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(&mut quiet) {
                return self.came(frame);
            }
        }
        if !self.waiting {
            self.waiting = true;
            self.deadline.set(self.idle);
        }
        ready!(self.deadline.poll(cx));
        self.link = None;
        Poll::Ready(Some(Err(BodyError::Stalled)))
    }

    fn came(
        &mut self,
        mut frame: Option<Result<Frame<Bytes>, hyper::Error>>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.waiting = false;
        match &mut frame {
            // The last chunk is the end, and only the last look sees it.
            None => self.rest(),
            Some(Err(_)) => self.link = None,
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_mut() {
                    strip_trailers(trailers);
                    self.rest();
                }
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Broken)))
    }

    /// Gives the connection back: its response is through.
    fn rest(&mut self) {
        if let Some(link) = self.link.take() {
            self.turn.pool().rest(link);
        }
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        // A body that was read to its end leaves a connection that can be used again; any other leaves one to close.
        if self.incoming.is_end_stream() {
            self.rest();
        }
    }
}

/// What a client is sent.
pub(crate) struct ResponseBody {
    content: Content,
    /// The request's slots; they end with it.
    hold: Option<Hold>,
    in_flight: Option<InFlight>,
    /// What is known about the request; it ends with it.
    record: Option<Box<Record>>,
    on_break: OnBreak,
}

enum Content {
    Nothing,
    Whole(Bytes),
    /// A message of gRPC, and behind it the status of a call that went well.
    Message(Bytes),
    /// That status alone.
    WentWell,
    /// A message that is still to be given, if it is; one more when there is something to say, if there is; and the status.
    Following(Option<Bytes>, Following),
    Upstream(UpstreamBody),
}

/// What follows a message, some day.
type Following = Pin<Box<dyn Future<Output = Option<Bytes>>>>;

/// How a client learns that the body broke off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnBreak {
    /// By a length that was not reached, or a last chunk or stream end that did not come.
    Close,
    /// Only by a reset: the end of the body is the end of the connection.
    Reset,
}

impl ResponseBody {
    /// No body.
    pub(crate) fn nothing() -> Self {
        Self::of(Content::Nothing)
    }

    /// `bytes`.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::of(Content::Whole(bytes))
    }

    /// `message` of gRPC, in its frame, and behind it the status of a call that went well.
    pub(crate) fn message(message: Bytes) -> Self {
        Self::of(Content::Message(message))
    }

    /// The same with another message between them, or none, as soon as it is known which.
    pub(crate) fn messages(first: Bytes, following: impl Future<Output = Option<Bytes>> + 'static) -> Self {
        Self::of(Content::Following(Some(first), Box::pin(following)))
    }

    /// The upstream's.
    pub(crate) fn upstream(body: UpstreamBody) -> Self {
        Self::of(Content::Upstream(body))
    }

    /// Keeps the request's slots until the body has ended, in whichever way.
    pub(crate) fn holding(mut self, hold: Option<Hold>) -> Self {
        self.hold = hold;
        self
    }

    /// Keeps `in_flight` and `record` until the body has ended, in whichever way.
    pub(crate) fn carrying(
        mut self,
        in_flight: InFlight,
        record: Option<Box<Record>>,
        on_break: OnBreak,
    ) -> Self {
        self.in_flight = Some(in_flight);
        self.record = record;
        self.on_break = on_break;
        self
    }

    fn of(content: Content) -> Self {
        Self {
            content,
            hold: None,
            in_flight: None,
            record: None,
            on_break: OnBreak::Close,
        }
    }

    fn complete(&mut self) {
        if let Some(record) = &mut self.record {
            record.completed();
        }
    }

    fn gave(&mut self, frame: &Frame<Bytes>) {
        if let (Some(record), Some(bytes)) = (&mut self.record, frame.data_ref()) {
            record.sent += bytes.len() as u64;
        }
    }

    fn broke(&mut self, error: &BodyError) {
        if let Some(record) = &mut self.record {
            let error = match error {
                BodyError::Stalled => "upstream_body_stalled",
                BodyError::Broken(_) | BodyError::TooLong => "upstream_body_broken",
            };
            if let Content::Upstream(body) = &self.content {
                record.upstream_broke(error, body.turn.blame());
            }
        }
        if self.on_break == OnBreak::Reset
            && let Some(in_flight) = &self.in_flight
        {
            in_flight.client().reset.set(true);
        }
    }
}

/// What stands behind the message of a call that went well.
fn went_well() -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(1);
    fields.insert(GRPC_STATUS, HeaderValue::from_static("0"));
    fields
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // hyper does not ask for an end that it knows of.
        if self.is_end_stream() {
            self.complete();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.content {
            Content::Nothing => Poll::Ready(None),
            Content::Whole(bytes) => {
                let frame = Frame::data(std::mem::take(bytes));
                self.content = Content::Nothing;
                self.gave(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Content::Message(message) => {
                let frame = Frame::data(std::mem::take(message));
                self.content = Content::WentWell;
                self.gave(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Content::Following(first, following) => {
                let message = match first.take() {
                    Some(first) => Some(first),
                    None => {
                        let last = ready!(following.as_mut().poll(cx));
                        self.content = Content::WentWell;
                        last
                    }
                };
                let Some(message) = message else {
                    return self.poll_frame(cx);
                };
                let frame = Frame::data(message);
                self.gave(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Content::WentWell => {
                self.content = Content::Nothing;
                Poll::Ready(Some(Ok(Frame::trailers(went_well()))))
            }
            Content::Upstream(body) => {
                let frame = ready!(body.poll(cx));
                match &frame {
                    Some(Ok(frame)) => self.gave(frame),
                    Some(Err(error)) => self.broke(error),
                    None => self.complete(),
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Nothing => true,
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Message(_) | Content::WentWell | Content::Following(..) => false,
            Content::Upstream(body) => body.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Nothing => SizeHint::with_exact(0),
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Message(_) | Content::WentWell | Content::Following(..) => SizeHint::default(),
            Content::Upstream(body) => body.incoming.size_hint(),
        }
    }
}
