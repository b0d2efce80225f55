//! Version 2: a binary header of 16 bytes, addresses, and more in type-length-value form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{MAX_BYTES, Outcome, Source, agrees, crc32c};

pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The bytes before the addresses.
const FIXED_BYTES: usize = 16;

/// The type of the value that holds the checksum of the whole header.
const CRC32C: u8 = 0x03;

pub(super) fn parse(bytes: &[u8]) -> Outcome {
    if !agrees(bytes, SIGNATURE) {
        return Outcome::Bad;
    }
    let Some((fixed, _)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
        return Outcome::Unfinished;
    };
    let length = FIXED_BYTES + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if length > MAX_BYTES {
        return Outcome::Bad;
    }
    let Some(header) = bytes.get(..length) else {
        return Outcome::Unfinished;
    };
    match source(header, fixed[12], fixed[13]) {
        Some(source) => Outcome::Header { source, length },
        None => Outcome::Bad,
    }
}

/// Who the whole `header` says opened the connection.
fn source(header: &[u8], version_and_command: u8, family: u8) -> Option<Source> {
    match version_and_command {
        // Of the proxy's own connections nothing else is looked at, as the document has it.
        0x20 => return Some(Source::Peer),
        0x21 => {}
        _ => return None,
    }
    let rest = &header[FIXED_BYTES..];
    let (source, address_bytes) = match family {
        // Not told.
        0x00 => (Source::Peer, 0),
        // TCP over IPv4 and IPv6: source, destination, and their ports.
        0x11 => {
            let source: [u8; 4] = rest.get(..12)?.first_chunk().copied()?;
            (Source::Client(IpAddr::V4(Ipv4Addr::from(source))), 12)
        }
        0x21 => {
            let source: [u8; 16] = rest.get(..36)?.first_chunk().copied()?;
            (
                Source::Client(IpAddr::V6(Ipv6Addr::from(source)).to_canonical()),
                36,
            )
        }
        // Unix sockets have no addresses that could be counted.
        0x31 => (Source::Peer, rest.get(..216)?.len()),
        // Datagrams come in no connection.
        _ => return None,
    };
    values_are_good(header, FIXED_BYTES + address_bytes).then_some(source)
}

/// Whether what begins at `start` is a list of values, and the checksum among them, if there is one, is right.
fn values_are_good(header: &[u8], start: usize) -> bool {
    let mut at = start;
    let mut checksum_at = None;
    while at < header.len() {
        let Some([kind, high, low]) = header[at..].first_chunk::<3>().copied() else {
            return false;
        };
        let value_at = at + 3;
        let length = usize::from(u16::from_be_bytes([high, low]));
        at = value_at + length;
        if at > header.len() {
            return false;
        }
        if kind == CRC32C && (length != 4 || checksum_at.replace(value_at).is_some()) {
            return false;
        }
    }
    checksum_at.is_none_or(|at| crc32c::is_right(header, at))
}
