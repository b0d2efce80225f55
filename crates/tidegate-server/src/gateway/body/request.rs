//! A client's body on its way to the upstream.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::{BodyError, Early, Pace};
use crate::gateway::deadline::Deadline;
use crate::gateway::fields::strip_trailers;
use crate::gateway::settings::Timeouts;

/// A client's body on its way to the upstream. Boxed, because most requests have none and hyper moves requests a dozen times.
pub(crate) struct RequestBody(Option<Box<Upload>>);

struct Upload {
    /// What was read ahead, until it has gone on.
    early: Option<Early>,
    incoming: Incoming,
    progress: Rc<Progress>,
    gate: Option<Gate>,
    pace: Option<Pace>,
    /// How many bytes may still come.
    left: u64,
}

/// How far a request's body has come, as its sender sees it.
pub(crate) struct Progress {
    deadline: Deadline,
    idle: Duration,
    response: Duration,
    upload: Cell<UploadState>,
    received: Cell<u64>,
}

/// Who has to act next for the request's body to get further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadState {
    /// The upstream: it takes no more bytes, or has not said yet that it wants them.
    Upstream,
    /// The client: it sends no more bytes.
    Client,
    /// Nobody: the client's bytes dripped.
    TooSlow,
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

    /// How many bytes have come.
    pub(crate) fn received(&self) -> u64 {
        self.received.get()
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

    /// A body of at most `most` bytes that is sent on as it comes, after what was read of it. `deadline` passes if it rests for `timeouts.body`, or if no
    /// response begins within `timeouts.response` of its end.
    pub(crate) fn streaming(
        (early, incoming): (Option<Early>, Incoming),
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
            received: Cell::new(0),
        });
        let upload = Upload {
            early,
            incoming,
            progress: progress.clone(),
            gate: None,
            pace: None,
            left: most,
        };
        (Self(Some(Box::new(upload))), progress)
    }

    /// Holds the body back until `gate` opens.
    pub(crate) fn behind(mut self, gate: Gate) -> Self {
        if let Some(upload) = &mut self.0 {
            upload.gate = Some(gate);
        }
        self
    }

    /// Lets no client be slower than `pace`.
    pub(crate) fn at(mut self, pace: Option<Pace>) -> Self {
        if let Some(upload) = &mut self.0 {
            upload.pace = pace;
        }
        self
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Upload {
    /// Whether nothing more comes.
    fn is_through(&self) -> bool {
        match &self.early {
            Some(early) => early.is_through(),
            None => self.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.incoming.size_hint();
        match (&self.early, rest.exact()) {
            (Some(early), Some(rest)) => SizeHint::with_exact(rest + early.len() as u64),
            (Some(_), None) => SizeHint::default(),
            (None, _) => rest,
        }
    }

    /// The next frame: of what was read ahead, then of what comes.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(frame) = self.early.as_mut().and_then(Early::next) {
            return Poll::Ready(frame.map(Ok));
        }
        self.early = None;
        Pin::new(&mut self.incoming).poll_frame(cx)
    }

    fn came(
        &mut self,
        frame: Option<Result<Frame<Bytes>, hyper::Error>>,
    ) -> Option<Result<Frame<Bytes>, BodyError>> {
        let mut frame = match frame {
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
        if let Some(trailers) = frame.trailers_mut() {
            strip_trailers(trailers);
        }
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        if let Some(pace) = &mut self.pace {
            pace.came(bytes);
        }
        let Some(left) = self.left.checked_sub(bytes) else {
            self.progress.upload.set(UploadState::TooLong);
            return Some(Err(BodyError::TooLong));
        };
        self.left = left;
        let received = &self.progress.received;
        received.set(received.get() + bytes);
        self.progress.moved(if self.is_through() {
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
        let Poll::Ready(frame) = upload.poll_next(cx) else {
            if upload.pace.as_mut().is_some_and(|pace| pace.wait(cx).is_ready()) {
                upload.progress.upload.set(UploadState::TooSlow);
                return Poll::Ready(Some(Err(BodyError::Stalled)));
            }
            upload.progress.upload.set(UploadState::Client);
            return Poll::Pending;
        };
        Poll::Ready(upload.came(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|upload| match &upload.early {
            Some(early) => early.is_over(),
            None => upload.incoming.is_end_stream(),
        })
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(upload) => upload.size_hint(),
        }
    }
}
