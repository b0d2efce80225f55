//! Frames, and how a connection begins and ends.

use super::data::{Malformed, Reader, Value, put_number, put_string, put_text, put_unsigned};

/// The longest frame that is taken, its length left out. HAProxy's own bound is `tune.bufsize`, 16 KiB by default.
pub(crate) const MAX_FRAME_BYTES: usize = 256 * 1024;

/// The shortest bound that both sides may agree on, as the protocol has it.
const LEAST_FRAME_BYTES: usize = 256;

const FINISHED: u32 = 1;
const AGENT_HELLO: u8 = 101;
const AGENT_DISCONNECT: u8 = 102;
const ACK: u8 = 103;

/// A frame of HAProxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'b> {
    /// How it would like to speak.
    Hello(&'b [u8]),
    /// Why it ends.
    Disconnect,
    /// Messages to be answered.
    Notify(Name, &'b [u8]),
    /// A kind that nobody knows, which the protocol says to skip.
    Unknown,
}

/// What the answer to a frame is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) stream: u64,
    pub(crate) frame: u64,
}

/// What stands at the front of what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoded<'b> {
    /// A frame, and how many bytes it takes.
    Frame(Frame<'b>, usize),
    /// The beginning of one.
    Unfinished,
    /// Something else. Nothing behind it can be understood.
    Wrong(Fault),
}

/// Why a connection ends, with the protocol's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    /// Nothing is wrong.
    Normal = 0,
    /// A frame is longer than was agreed on.
    TooBig = 3,
    /// A frame is not written as it should be, or not to be sent now.
    Invalid = 4,
    /// The greeting does not say which versions it speaks.
    NoVersion = 5,
    /// It does not say how long frames may be.
    NoFrameSize = 6,
    /// It does not say what it can.
    NoCapabilities = 7,
    /// It speaks no version that is spoken here.
    BadVersion = 8,
    /// Frames would have to be too short.
    BadFrameSize = 9,
    /// A frame comes in pieces.
    Fragmented = 10,
}

/// Reads the frame at the front of `bytes`, at most `most` long.
pub(crate) fn decode(bytes: &[u8], most: usize) -> Decoded<'_> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Decoded::Unfinished;
    };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > most {
        return Decoded::Wrong(Fault::TooBig);
    }
    let Some(frame) = rest.get(..length) else {
        return Decoded::Unfinished;
    };
    match read(Reader(frame)) {
        Ok(Ok(frame)) => Decoded::Frame(frame, length + 4),
        Ok(Err(fault)) => Decoded::Wrong(fault),
        Err(Malformed) => Decoded::Wrong(Fault::Invalid),
    }
}

fn read(mut reader: Reader<'_>) -> Result<Result<Frame<'_>, Fault>, Malformed> {
    let kind = reader.byte()?;
    let flags: [u8; 4] = reader.take(4)?.try_into().map_err(|_| Malformed)?;
    if u32::from_be_bytes(flags) & FINISHED == 0 {
        return Ok(Err(Fault::Fragmented));
    }
    let name = Name {
        stream: reader.number()?,
        frame: reader.number()?,
    };
    let belongs_to_none = name == Name { stream: 0, frame: 0 };
    Ok(match kind {
        1 | 2 if !belongs_to_none => Err(Fault::Invalid),
        1 => Ok(Frame::Hello(reader.0)),
        2 => Ok(Frame::Disconnect),
        3 => Ok(Frame::Notify(name, reader.0)),
        _ => Ok(Frame::Unknown),
    })
}

/// What both sides agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The longest frame.
    pub(crate) most: usize,
    /// Whether answers may come in another order than what they answer.
    pub(crate) pipelining: bool,
    /// Whether it only asks whether somebody is here.
    pub(crate) is_health_check: bool,
}

/// What HAProxy says in its greeting, and what is agreed on.
pub(crate) fn agree(greeting: &[u8]) -> Result<Agreed, Fault> {
    let mut reader = Reader(greeting);
    let (mut versions, mut most, mut capabilities, mut is_health_check) = (None, None, None, false);
    while !reader.is_empty() {
        let read = reader.string().and_then(|name| Ok((name, reader.value()?)));
        match read.map_err(|Malformed| Fault::Invalid)? {
            (b"supported-versions", Value::Bytes(said)) => versions = Some(said),
            (b"max-frame-size", Value::Number(said)) => most = Some(said),
            (b"capabilities", Value::Bytes(said)) => capabilities = Some(said),
            (b"healthcheck", Value::Flag(said)) => is_health_check = said,
            _ => {}
        }
    }
    if !items(versions.ok_or(Fault::NoVersion)?).any(|version| version.starts_with(b"2.")) {
        return Err(Fault::BadVersion);
    }
    let most = usize::try_from(most.ok_or(Fault::NoFrameSize)?).unwrap_or(usize::MAX);
    if most < LEAST_FRAME_BYTES {
        return Err(Fault::BadFrameSize);
    }
    let mut capabilities = items(capabilities.ok_or(Fault::NoCapabilities)?);
    Ok(Agreed {
        most: most.min(MAX_FRAME_BYTES),
        pipelining: capabilities.any(|capability| capability == b"pipelining"),
        is_health_check,
    })
}

/// The items of a list with commas.
fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

impl Agreed {
    /// The greeting in return.
    pub(crate) fn greet(self, into: &mut Vec<u8>) {
        framed(AGENT_HELLO, Name { stream: 0, frame: 0 }, into, |into| {
            put_string(b"version", into);
            put_text(b"2.0", into);
            put_string(b"max-frame-size", into);
            put_unsigned(u32::try_from(self.most).unwrap_or(u32::MAX), into);
            put_string(b"capabilities", into);
            put_text(if self.pipelining { b"pipelining" } else { b"" }, into);
        });
    }
}

impl Fault {
    /// The frame that ends a connection for this.
    pub(crate) fn disconnect(self, into: &mut Vec<u8>) {
        framed(AGENT_DISCONNECT, Name { stream: 0, frame: 0 }, into, |into| {
            put_string(b"status-code", into);
            put_unsigned(self as u32, into);
            put_string(b"message", into);
            put_text(self.words().as_bytes(), into);
        });
    }

    fn words(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::TooBig => "frame is too big",
            Self::Invalid => "invalid frame received",
            Self::NoVersion => "version value not found",
            Self::NoFrameSize => "max-frame-size value not found",
            Self::NoCapabilities => "capabilities value not found",
            Self::BadVersion => "unsupported version",
            Self::BadFrameSize => "max-frame-size too big or too small",
            Self::Fragmented => "payload fragmentation is not supported",
        }
    }
}

/// Writes the frame that answers `name` by `actions`.
pub(crate) fn acknowledge(name: Name, into: &mut Vec<u8>, actions: impl FnOnce(&mut Vec<u8>)) {
    framed(ACK, name, into, actions);
}

/// How many bytes a frame has beside its payload, at most, its length left out.
pub(crate) const FRAME_OVERHEAD: usize = 1 + 4 + 2 * 10;

fn framed(kind: u8, name: Name, into: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
    let begin = into.len();
    into.extend_from_slice(&[0; 4]);
    into.push(kind);
    into.extend_from_slice(&FINISHED.to_be_bytes());
    put_number(name.stream, into);
    put_number(name.frame, into);
    payload(into);
    let length = into.len().saturating_sub(begin + 4);
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    if let Some(place) = into.get_mut(begin..begin + 4) {
        place.copy_from_slice(&length);
    }
}

#[cfg(test)]
mod tests;
