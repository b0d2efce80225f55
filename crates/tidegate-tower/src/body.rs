//! The body of a response.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::Hold;

pin_project! {
    /// The body of a response: that of the service, or of a request that was answered before it.
    ///
    /// While it lasts, its request counts under concurrency limits.
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindPinned]
    #[derive(Debug)]
    enum Kind<B> {
        Passed { #[pin] body: B, hold: Option<Hold> },
        Answered { bytes: Option<Bytes> },
    }
}

impl<B> LimitedBody<B> {
    /// What the service sends.
    pub(crate) fn passed(body: B, hold: Option<Hold>) -> Self {
        Self {
            kind: Kind::Passed { body, hold },
        }
    }

    /// What is sent in its place.
    pub(crate) fn answered(bytes: Bytes) -> Self {
        Self {
            kind: Kind::Answered {
                bytes: (!bytes.is_empty()).then_some(bytes),
            },
        }
    }
}

impl<B: Body<Data = Bytes>> Body for LimitedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindPinned::Passed { body, hold } => {
                let polled = body.poll_frame(context);
                // A server may keep the body a while after its end.
                if let Poll::Ready(None | Some(Err(_))) = polled {
                    *hold = None;
                }
                polled
            }
            KindPinned::Answered { bytes } => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passed { body, .. } => body.is_end_stream(),
            Kind::Answered { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passed { body, .. } => body.size_hint(),
            Kind::Answered { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}
