//! A client's body, read before its request goes on, because a policy looks at it.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use hyper::body::Incoming;

use crate::gateway::deadline::Deadlines;
use crate::gateway::settings::Settings;
use crate::pipeline::{Held, NotRead, ReadAhead, Share};

/// What a buffer begins with, unless the body is known to be shorter.
const FIRST_BYTES: usize = 1024;

/// Reads bodies ahead within the times and bounds of a worker.
pub(crate) struct Reader<'w> {
    pub(crate) deadlines: &'w Rc<Deadlines>,
    pub(crate) settings: &'w Settings,
}

/// The beginning of a body, which goes on before the rest of it.
pub(crate) struct Early {
    bytes: Bytes,
    trailers: Option<HeaderMap>,
    /// Whether this is all of it.
    ended: bool,
    /// Whether that was told.
    told: bool,
}

impl Early {
    /// What was read.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// How many bytes are left of it.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The next frame; that the body has ended; or nothing, when the rest has still to come.
    pub(super) fn next(&mut self) -> Option<Option<Frame<Bytes>>> {
        if !self.bytes.is_empty() {
            return Some(Some(Frame::data(std::mem::take(&mut self.bytes))));
        }
        match self.trailers.take() {
            Some(trailers) => Some(Some(Frame::trailers(trailers))),
            None => {
                self.told = self.ended;
                self.ended.then_some(None)
            }
        }
    }

    /// Whether the end was told. Not earlier: a body in chunks stays one, even if it is empty.
    pub(super) fn is_over(&self) -> bool {
        self.told
    }

    /// Whether nothing comes after what was taken of it.
    pub(super) fn is_through(&self) -> bool {
        self.ended && self.bytes.is_empty() && self.trailers.is_none()
    }
}

impl ReadAhead for Reader<'_> {
    type Incoming = Incoming;
    type Early = Early;

    fn is_empty(&self, body: &Incoming) -> bool {
        body.is_end_stream()
    }

    async fn read(
        &self,
        body: &mut Incoming,
        most: usize,
        held: &Arc<Held>,
    ) -> Result<(tidegate_policy::Body, Option<Early>), NotRead> {
        let too_large = tidegate_policy::Body::TOO_LARGE;
        if body.size_hint().lower() > most as u64 {
            return Ok((too_large, None));
        }
        let mut buffer = Buffer {
            bytes: Vec::new(),
            share: Share::new(held),
            whole: body.size_hint().exact(),
        };
        let (trailers, ended) = self.fill(body, &mut buffer, most).await?;
        let bytes = Bytes::from_owner(buffer);
        let seen = if bytes.len() > most {
            too_large
        } else {
            tidegate_policy::Body::whole(bytes.clone())
        };
        let early = Early {
            bytes,
            trailers,
            ended,
            told: false,
        };
        Ok((seen, Some(early)))
    }
}

impl Reader<'_> {
    /// Reads until `body` has ended or `buffer` holds more than `most` bytes. Its trailers, and whether it has ended.
    async fn fill(
        &self,
        body: &mut Incoming,
        buffer: &mut Buffer,
        most: usize,
    ) -> Result<(Option<HeaderMap>, bool), NotRead> {
        let Settings { timeouts, bounds, .. } = self.settings;
        let whole = self.deadlines.deadline();
        whole.set(timeouts.policy_body);
        let next = self.deadlines.deadline();
        while buffer.bytes.len() <= most {
            next.set(timeouts.body);
            let frame = poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending if whole.poll(cx).is_ready() || next.poll(cx).is_ready() => {
                    Poll::Ready(Err(NotRead::Late))
                }
                Poll::Pending => Poll::Pending,
            });
            let Some(frame) = frame.await? else {
                return Ok((None, true));
            };
            let data = match frame.map_err(|_| NotRead::Broken)?.into_data() {
                Ok(data) => data,
                Err(other) => return Ok((other.into_trailers().ok(), true)),
            };
            buffer.push(&data, bounds.body_memory)?;
            if buffer.bytes.len() as u64 > bounds.body_bytes {
                return Err(NotRead::TooLong);
            }
            if body.is_end_stream() {
                return Ok((None, true));
            }
        }
        Ok((None, false))
    }
}

/// Bytes of a body, copied out of the buffers they came in: one byte of those would hold all of them.
struct Buffer {
    bytes: Vec<u8>,
    share: Share,
    /// How long the body is, if that was said.
    whole: Option<u64>,
}

impl Buffer {
    /// Adds `data`, if then at most `most` bytes are held in the process.
    fn push(&mut self, data: &[u8], most: usize) -> Result<(), NotRead> {
        let needed = self.bytes.len() + data.len();
        let present = self.bytes.capacity();
        if needed > present {
            let whole = self.whole.and_then(|whole| usize::try_from(whole).ok());
            let roomy = FIRST_BYTES.max(present * 2).min(whole.unwrap_or(usize::MAX));
            let capacity = roomy.max(needed);
            if !self.share.grow(capacity - present, most) {
                return Err(NotRead::Crowded);
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
