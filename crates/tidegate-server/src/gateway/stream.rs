//! The bytes of a connection: TCP as it is, or TLS over it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsStream;

/// A connection to a client or to an upstream.
///
/// An orderly end is [`AsyncWrite::poll_shutdown`], which sends TLS's `close_notify` too. A peer's end without one is an error of the
/// read that finds it: what came before may not be all there was.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    /// Only to upstreams.
    Unix(UnixStream),
    /// Boxed once per connection, so that plain ones stay small.
    Tls(Box<TlsStream<Wire>>),
}

impl Stream {
    /// Whether bytes that were taken for sent still wait here, because the peer reads too slowly.
    pub(crate) fn is_behind(&self) -> bool {
        match self {
            Self::Plain(_) | Self::Unix(_) => false,
            Self::Tls(tls) => tls.get_ref().1.wants_write(),
        }
    }

    /// Whether the peer's system took any bytes since the last time this was asked. Of plain TCP a write says so itself.
    pub(crate) fn has_moved(&mut self) -> bool {
        match self {
            Self::Plain(_) | Self::Unix(_) => false,
            Self::Tls(tls) => std::mem::take(&mut tls.get_mut().0.moved),
        }
    }

    /// Sends `bytes` as far as can be done without waiting.
    pub(crate) fn write_now(&mut self, bytes: &[u8]) {
        let mut cx = Context::from_waker(Waker::noop());
        // Whether it worked is the same to whoever cannot wait.
        let _ = Pin::new(&mut *self).poll_write(&mut cx, bytes);
        let _ = Pin::new(self).poll_flush(&mut cx);
    }

    /// Tells a TLS peer that all is well and at its end, if that can be done without waiting. Closing a plain connection says so.
    pub(crate) fn part(&mut self) {
        if let Self::Tls(tls) = self {
            let _ = Pin::new(tls).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Closes so that the peer sees a reset.
    pub(crate) fn reset(self) {
        let tcp = match &self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => &tls.get_ref().0.tcp,
            Self::Unix(_) => return,
        };
        let _ = tcp.set_zero_linger();
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Unix(unix) => Pin::new(unix).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Unix(unix) => Pin::new(unix).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, slices),
            Self::Unix(unix) => Pin::new(unix).poll_write_vectored(cx, slices),
            // Gathered by TLS itself, into as few records as they fit in.
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, slices),
        }
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        true
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Unix(unix) => Pin::new(unix).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Unix(unix) => Pin::new(unix).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// TCP under TLS.
#[derive(Debug)]
pub(crate) struct Wire {
    tcp: TcpStream,
    /// What was read before TLS began.
    early: Bytes,
    /// Bytes were sent since somebody last asked.
    moved: bool,
}

impl Wire {
    /// `early` is what was read from `tcp` already, and belongs to TLS.
    pub(crate) fn new(tcp: TcpStream, early: Bytes) -> Self {
        Self {
            tcp,
            early,
            moved: false,
        }
    }

    /// The connection, without TLS.
    pub(crate) fn into_tcp(self) -> TcpStream {
        self.tcp
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.has_remaining() {
            let taken = self.early.len().min(buffer.remaining());
            buffer.put_slice(&self.early.split_to(taken));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.tcp).poll_write(cx, bytes))?;
        self.moved = true;
        Poll::Ready(Ok(sent))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.tcp).poll_write_vectored(cx, slices))?;
        self.moved = true;
        Poll::Ready(Ok(sent))
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
