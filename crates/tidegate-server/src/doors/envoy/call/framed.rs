//! A message behind its prefix, as it comes.

use bytes::{Buf, Bytes, BytesMut};
use tonic::Status;

use crate::doors::envoy::wire::Written;

const PREFIX_BYTES: usize = Written::PREFIX_BYTES;

/// What has come of a message and its prefix.
pub(super) enum Framed {
    Nothing,
    /// In the buffer it came in. Most calls are no longer than one.
    Once(Bytes),
    Parts(BytesMut),
}

impl Framed {
    /// The same and what came behind it.
    pub(super) fn with(self, data: Bytes, most: usize) -> Result<Self, Status> {
        let read = match self {
            _ if data.is_empty() => return Ok(self),
            Self::Nothing => Self::Once(data),
            Self::Once(first) => {
                let mut parts = BytesMut::from(first);
                parts.extend_from_slice(&data);
                Self::Parts(parts)
            }
            Self::Parts(mut parts) => {
                parts.extend_from_slice(&data);
                Self::Parts(parts)
            }
        };
        // Nobody is listened to longer than necessary.
        let (told, there) = (read.length()?, read.bytes().len().saturating_sub(PREFIX_BYTES));
        if told.is_some_and(|told| told > most) {
            return Err(Status::resource_exhausted(format!(
                "a message of this method has at most {most} bytes"
            )));
        }
        if told.is_some_and(|told| told < there) {
            return Err(Status::unimplemented("a call of this method has one message"));
        }
        Ok(read)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::Once(bytes) => bytes,
            Self::Parts(parts) => parts,
        }
    }

    /// How long the message is, if that has come.
    fn length(&self) -> Result<Option<usize>, Status> {
        let Some((&[compressed, ref length @ ..], _)) = self.bytes().split_first_chunk::<PREFIX_BYTES>()
        else {
            return Ok(None);
        };
        if compressed != 0 {
            return Err(Status::internal(
                "the message is compressed, and its call does not say how",
            ));
        }
        Ok(Some(u32::from_be_bytes(*length) as usize))
    }

    /// The message, if all of it has come.
    pub(super) fn message(self) -> Result<Bytes, Status> {
        let there = self.bytes().len().checked_sub(PREFIX_BYTES);
        if there.is_none() || self.length()? != there {
            return Err(Status::internal("the call ended before its message did"));
        }
        let mut bytes = match self {
            Self::Nothing => Bytes::new(),
            Self::Once(bytes) => bytes,
            Self::Parts(parts) => parts.freeze(),
        };
        bytes.advance(PREFIX_BYTES);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    /// What is read of `pieces`, of which a message may have three bytes.
    fn read(pieces: &[&'static [u8]]) -> Result<Bytes, Code> {
        let each = |framed: Framed, piece: &&'static [u8]| framed.with(Bytes::from_static(piece), 3);
        let framed = pieces.iter().try_fold(Framed::Nothing, each);
        framed.and_then(Framed::message).map_err(|status| status.code())
    }

    #[test]
    fn a_message_is_what_its_prefix_says() {
        for pieces in [
            &[&b"\0\0\0\0\x03abc"[..]][..],
            &[b"\0", b"\0\0\0\x03", b"ab", b"", b"c"],
            &[b"", b"\0\0\0\0\x03a", b"bc"],
        ] {
            assert_eq!(read(pieces), Ok(Bytes::from_static(b"abc")), "{pieces:?}");
        }
        assert_eq!(read(&[b"\0\0\0\0\0"]), Ok(Bytes::new()));
    }

    #[test]
    fn whatever_else_comes_is_refused_as_soon_as_it_is_seen() {
        for (pieces, code) in [
            (&[][..], Code::Internal),
            (&[&b"\0\0\0\0"[..]], Code::Internal),
            (&[b"\0\0\0\0\x03ab"], Code::Internal),
            (&[b"\x01\0\0\0\x03abc"], Code::Internal),
            (&[b"\0\0\0\0\x04"], Code::ResourceExhausted),
            (&[b"\0\xff\xff\xff\xff"], Code::ResourceExhausted),
            (&[b"\0\0\0\0\x03abcd"], Code::Unimplemented),
            (&[b"\0\0\0\0\x03abc", b"\0"], Code::Unimplemented),
        ] {
            assert_eq!(read(pieces), Err(code), "{pieces:?}");
        }
    }
}
