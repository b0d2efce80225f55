//! Version 1: `PROXY TCP4 192.0.2.7 10.0.0.1 4711 443` and a line end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Outcome, Source, agrees};

pub(super) const BEGINNING: &[u8] = b"PROXY ";

/// The most bytes of the line, its end included.
pub(super) const MAX_LINE_BYTES: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Outcome {
    if !agrees(bytes, BEGINNING) {
        return Outcome::Bad;
    }
    let line = &bytes[..bytes.len().min(MAX_LINE_BYTES)];
    match line.iter().position(|byte| *byte == b'\r') {
        None if line.len() == MAX_LINE_BYTES => Outcome::Bad,
        None => Outcome::Unfinished,
        Some(end) => match line.get(end + 1) {
            None if end + 1 == MAX_LINE_BYTES => Outcome::Bad,
            None => Outcome::Unfinished,
            Some(b'\n') => match source(&line[BEGINNING.len()..end]) {
                Some(source) => Outcome::Header {
                    source,
                    length: end + 2,
                },
                None => Outcome::Bad,
            },
            Some(_) => Outcome::Bad,
        },
    }
}

/// Who `rest` says opened the connection. After `UNKNOWN`, anything may follow and says nothing.
fn source(rest: &[u8]) -> Option<Source> {
    if rest == b"UNKNOWN" || rest.starts_with(b"UNKNOWN ") {
        return Some(Source::Peer);
    }
    let rest = std::str::from_utf8(rest).ok()?;
    let mut words = rest.split(' ');
    let mut word = || words.next();
    let (family, source, destination) = (word()?, word()?, word()?);
    let ports_are_good = is_port(word()?) && is_port(word()?);
    if !ports_are_good || word().is_some() {
        return None;
    }
    let (source, _destination) = match family {
        "TCP4" => (v4(source)?, v4(destination)?),
        "TCP6" => (v6(source)?, v6(destination)?),
        _ => return None,
    };
    Some(Source::Client(source.to_canonical()))
}

fn v4(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn v6(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn is_port(text: &str) -> bool {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    let no_leading_zero = text == "0" || !text.starts_with('0');
    digits_only && no_leading_zero && text.parse::<u16>().is_ok()
}
