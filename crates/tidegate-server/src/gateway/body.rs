//! Bodies on their way: neither is ever held whole.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::client::InFlight;
use super::deadline::Deadline;
use super::pool::{Link, Pool};
use super::settings::Timeouts;
use crate::pipeline::Hold;

/// A body broke off.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The connection it came over.
    Broken(hyper::Error),
    /// Nothing came in time.
    Stalled,
    /// It is longer than the bound.
    TooLong,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(error) => write!(f, "the body broke off: {error}"),
            Self::Stalled => f.write_str("the body stopped coming"),
            Self::TooLong => f.write_str("the body is too long"),
        }
    }
}

impl std::error::Error for BodyError {}

/// A client's body on its way to the upstream.
pub(crate) struct RequestBody(Option<Upload>);

struct Upload {
    incoming: Incoming,
    progress: Rc<Progress>,
    gate: Option<Gate>,
    /// How many bytes may still come.
    left: u64,
}

/// How far a request's body has come, as its sender sees it.
pub(crate) struct Progress {
    deadline: Deadline,
    idle: Duration,
    response: Duration,
    upload: Cell<UploadState>,
}

/// Who has to act next for the request's body to get further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadState {
    /// The upstream: it takes no more bytes, or has not said yet that it wants them.
    Upstream,
    /// The client: it sends no more bytes.
    Client,
    /// The client's connection broke, or its body is malformed.
    Broken,
    /// Nobody: the client's body is longer than the bound.
    TooLong,
    /// Nobody: it is through.
    Done,
}

impl Progress {
    pub(crate) fn upload(&self) -> UploadState {
        self.upload.get()
    }

    fn moved(&self, to: UploadState) {
        self.upload.set(to);
        self.deadline.set(match to {
            UploadState::Done => self.response,
            _ => self.idle,
        });
    }
}

impl RequestBody {
    /// No body.
    pub(crate) const EMPTY: Self = Self(None);

    /// A body of at most `most` bytes that is sent on as it comes. `deadline` passes if it rests for `timeouts.body`, or if no
    /// response begins within `timeouts.response` of its end.
    pub(crate) fn streaming(
        incoming: Incoming,
        most: u64,
        deadline: Deadline,
        timeouts: &Timeouts,
    ) -> (Self, Rc<Progress>) {
        deadline.set(timeouts.body);
        let progress = Rc::new(Progress {
            deadline,
            idle: timeouts.body,
            response: timeouts.response,
            upload: Cell::new(UploadState::Upstream),
        });
        let upload = Upload {
            incoming,
            progress: progress.clone(),
            gate: None,
            left: most,
        };
        (Self(Some(upload)), progress)
    }

    /// Holds the body back until `gate` opens.
    pub(crate) fn behind(mut self, gate: Gate) -> Self {
        if let Some(upload) = &mut self.0 {
            upload.gate = Some(gate);
        }
        self
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Upload {
    fn came(
        &mut self,
        frame: Option<Result<Frame<Bytes>, hyper::Error>>,
    ) -> Option<Result<Frame<Bytes>, BodyError>> {
        let frame = match frame {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                self.progress.upload.set(UploadState::Broken);
                return Some(Err(BodyError::Broken(error)));
            }
            None => {
                self.progress.moved(UploadState::Done);
                return None;
            }
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        let Some(left) = self.left.checked_sub(bytes) else {
            self.progress.upload.set(UploadState::TooLong);
            return Some(Err(BodyError::TooLong));
        };
        self.left = left;
        self.progress.moved(if self.incoming.is_end_stream() {
            UploadState::Done
        } else {
            UploadState::Upstream
        });
        Some(Ok(frame))
    }
}

/// Opens when the upstream says `100 Continue`, or when it has said nothing for a while.
pub(crate) struct Gate {
    open: Arc<AtomicBool>,
    patience: Deadline,
}

impl Gate {
    /// How long an upstream is waited for; many origins never say `100 Continue`.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// A closed gate and its handle. The handle is shared with hyper, whose callback must be `Sync`.
    pub(crate) fn closed(patience: Deadline) -> (Self, Arc<AtomicBool>) {
        patience.set(Self::PATIENCE);
        let open = Arc::new(AtomicBool::new(false));
        (
            Self {
                open: open.clone(),
                patience,
            },
            open,
        )
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        // Set on this thread, by the connection that is about to poll the body.
        if self.open.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        self.patience.poll(cx)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(upload) = &mut self.0 else {
            return Poll::Ready(None);
        };
        if let Some(gate) = &upload.gate {
            ready!(gate.poll(cx));
            upload.gate = None;
        }
        let Poll::Ready(frame) = Pin::new(&mut upload.incoming).poll_frame(cx) else {
            upload.progress.upload.set(UploadState::Client);
            return Poll::Pending;
        };
        Poll::Ready(upload.came(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|upload| upload.incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(upload) => upload.incoming.size_hint(),
        }
    }
}

/// The upstream's body on its way to the client, and the connection it comes over.
pub(crate) struct UpstreamBody {
    pub(super) incoming: Incoming,
    /// None once it is back in the pool, or useless.
    pub(super) link: Option<Box<Link>>,
    pub(super) pool: Rc<Pool>,
    pub(super) deadline: Deadline,
    pub(super) idle: Duration,
    pub(super) waiting: bool,
}

impl UpstreamBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            return self.came(frame);
        }
        // The first look told the connection that its bytes are wanted; now it may read them.
        if let Some(link) = &mut self.link {
            if link.poll(cx).is_ready() {
                self.link = None;
            }
            if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
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
        frame: Option<Result<Frame<Bytes>, hyper::Error>>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.waiting = false;
        if frame.as_ref().is_some_and(Result::is_err) {
            self.link = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Broken)))
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        // A body that was read to its end leaves a connection that can be used again; any other leaves one to close.
        if let Some(link) = self.link.take()
            && self.incoming.is_end_stream()
        {
            self.pool.rest(link);
        }
    }
}

/// What a client is sent.
pub(crate) struct ResponseBody {
    content: Content,
    /// The request's slots; they end with it.
    hold: Option<Hold>,
    in_flight: Option<InFlight>,
    on_break: OnBreak,
}

enum Content {
    Nothing,
    Whole(Bytes),
    Upstream(UpstreamBody),
}

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

    /// The upstream's.
    pub(crate) fn upstream(body: UpstreamBody) -> Self {
        Self::of(Content::Upstream(body))
    }

    /// Keeps the request's slots until the body has ended, in whichever way.
    pub(crate) fn holding(mut self, hold: Option<Hold>) -> Self {
        self.hold = hold;
        self
    }

    /// Keeps `in_flight` until the body has ended, in whichever way.
    pub(crate) fn carrying(mut self, in_flight: InFlight, on_break: OnBreak) -> Self {
        self.in_flight = Some(in_flight);
        self.on_break = on_break;
        self
    }

    fn of(content: Content) -> Self {
        Self {
            content,
            hold: None,
            in_flight: None,
            on_break: OnBreak::Close,
        }
    }

    fn broke(&self) {
        if self.on_break == OnBreak::Reset
            && let Some(in_flight) = &self.in_flight
        {
            in_flight.client().reset.set(true);
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
                let bytes = std::mem::take(bytes);
                self.content = Content::Nothing;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Content::Upstream(body) => {
                let frame = ready!(body.poll(cx));
                if matches!(frame, Some(Err(_))) {
                    self.broke();
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Nothing => true,
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Upstream(body) => body.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Nothing => SizeHint::with_exact(0),
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Upstream(body) => body.incoming.size_hint(),
        }
    }
}
