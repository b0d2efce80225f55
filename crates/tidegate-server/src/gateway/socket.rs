//! A socket as hyper wants it, with small writes gathered.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;

use super::stream::Stream;

/// Up to this many bytes are copied into one piece, because one `send` costs the kernel less than a `writev` of several.
const GATHERED: usize = 1024;

/// A connection.
#[derive(Debug)]
pub(crate) struct Socket(TokioIo<Stream>);

impl Socket {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(TokioIo::new(stream))
    }

    pub(crate) fn into_stream(self) -> Stream {
        self.0.into_inner()
    }

    /// The bytes under it.
    pub(crate) fn stream(&mut self) -> &mut Stream {
        self.0.inner_mut()
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let is_tls = matches!(self.0.inner(), Stream::Tls(_));
        let inner = Pin::new(&mut self.0);
        if let [only] = slices {
            return inner.poll_write(cx, only);
        }
        if is_tls {
            return inner.poll_write_vectored(cx, slices);
        }
        let mut gathered = [0; GATHERED];
        match gather(slices, &mut gathered) {
            Some(length) => inner.poll_write(cx, &gathered[..length]),
            None => inner.poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Copies `slices` to the beginning of `into` and says how long they are; None if they do not fit.
fn gather(slices: &[IoSlice<'_>], into: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for slice in slices {
        let end = length + slice.len();
        into.get_mut(length..end)?.copy_from_slice(slice);
        length = end;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_gathered_as_long_as_they_fit() {
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        let mut exact = [0; 4];
        assert_eq!(gather(&slices, &mut exact), Some(4));
        assert_eq!(&exact, b"abcd");
        assert_eq!(gather(&slices, &mut [0; 3]), None);
    }
}
