//! Upgraded connections: bytes in both directions until both ends have finished, or nothing moved for too long.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};

use super::client::InFlight;
use super::deadline::Deadline;
use super::stream::Stream;
use super::upstreams::Turn;
use crate::pipeline::Hold;
use crate::record::Record;

/// The upstream's half of an upgraded connection, waiting for the client's.
pub(crate) struct Tunnel {
    pub(crate) upstream: Stream,
    /// What the upstream said first in the new protocol.
    pub(crate) early: Bytes,
    /// Keeps it in flight at its server.
    pub(crate) turn: Turn,
    /// The request that became the tunnel; it ends with it.
    pub(crate) in_flight: InFlight,
    /// Its slots, until then.
    pub(crate) hold: Option<Hold>,
    /// What is known about it, until then.
    pub(crate) record: Option<Box<Record>>,
}

/// Bytes kept per direction.
const BUFFER: usize = 8 * 1024;

impl Tunnel {
    /// Joins the two halves. `early` is what the client said first. An end that finishes is told on to the other, which may go
    /// on talking.
    pub(crate) async fn run(self, client: Stream, early: Bytes, deadline: Deadline, idle: Duration) {
        let Self {
            upstream,
            early: upstream_early,
            turn,
            in_flight,
            hold,
            mut record,
        } = self;
        deadline.set(idle);
        let mut client = End::new(client, early, &deadline, idle);
        let mut upstream = End::new(upstream, upstream_early, &deadline, idle);
        let finished = {
            let mut copy = pin!(copy_bidirectional_with_sizes(
                &mut client,
                &mut upstream,
                BUFFER,
                BUFFER
            ));
            poll_fn(|cx| match copy.as_mut().poll(cx) {
                // How the two ends part is their protocol's business; there is nobody here to tell.
                Poll::Ready(outcome) => Poll::Ready(outcome.is_ok()),
                Poll::Pending => deadline.poll(cx).map(|()| false),
            })
            .await
        };
        if let Some(record) = &mut record {
            (record.received, record.sent) = (client.read, upstream.read);
            if finished {
                record.completed();
            }
        }
        drop((turn, in_flight, hold, record));
    }
}

/// One end of a tunnel, with the bytes that were read from it too early.
struct End<'a> {
    stream: Stream,
    early: Bytes,
    /// Bytes read from it.
    read: u64,
    deadline: &'a Deadline,
    idle: Duration,
}

impl<'a> End<'a> {
    fn new(stream: Stream, early: Bytes, deadline: &'a Deadline, idle: Duration) -> Self {
        Self {
            stream,
            early,
            read: 0,
            deadline,
            idle,
        }
    }
}

impl AsyncRead for End<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let taken = self.early.len().min(buffer.remaining());
            buffer.put_slice(&self.early[..taken]);
            self.early.advance(taken);
            self.read += taken as u64;
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if outcome.is_ready() {
            self.read += buffer.filled().len().saturating_sub(before) as u64;
            self.deadline.set(self.idle);
        }
        outcome
    }
}

impl AsyncWrite for End<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
