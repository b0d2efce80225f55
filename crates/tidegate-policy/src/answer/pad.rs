//! One buffer for all changing texts of a response.

use bytes::Bytes;
use http::HeaderValue;

/// A buffer that texts are written to one after the other, to be shared by the values made from them.
pub(super) struct Pad(Vec<u8>);

/// Where a text is on the pad.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: usize,
    end: usize,
}

impl Pad {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Adds what `write` appends.
    pub(super) fn note(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.0.len();
        write(&mut self.0);
        Span {
            start,
            end: self.0.len(),
        }
    }

    pub(super) fn finish(self) -> Bytes {
        Bytes::from(self.0)
    }
}

impl Span {
    /// The text, sharing the buffer.
    pub(super) fn bytes(self, pad: &Bytes) -> Bytes {
        pad.slice(self.start..self.end)
    }

    /// The text as a header value. All texts noted for header fields are printable ASCII; one that is not becomes empty.
    pub(super) fn value(self, pad: &Bytes) -> HeaderValue {
        HeaderValue::from_maybe_shared(self.bytes(pad)).unwrap_or(HeaderValue::from_static(""))
    }
}
