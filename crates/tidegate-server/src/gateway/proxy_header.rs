//! The header that a proxy sends in front of a connection's bytes to say who opened it: the PROXY protocol, version 1 and 2
//! (haproxy.org, proxy-protocol.txt).
//!
//! Pure. Read strictly, because only configured proxies send it: what is not written as the document has it is no header.

mod crc32c;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use std::net::IpAddr;

use tidegate_policy::ProxyProtocol;

/// The most bytes that a header has: 16, and as many as its length says, of which no more are accepted than certificates' names and
/// the like need.
pub(crate) const MAX_BYTES: usize = 16 + 4096;

/// Whom a connection is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// From the proxy itself, a health check for instance, or from somebody whom it does not tell: the socket's peer counts.
    Peer,
    /// From this address, in canonical form.
    Client(IpAddr),
}

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The beginning of a header.
    Unfinished,
    /// A header of `length` bytes. What follows belongs to the client.
    Header { source: Source, length: usize },
    /// No header.
    Bad,
}

/// Reads a header of one of the versions that `accepted` names at the beginning of `bytes`.
pub(crate) fn parse(bytes: &[u8], accepted: ProxyProtocol) -> Outcome {
    let (v1, v2) = match accepted {
        ProxyProtocol::V1 => (true, false),
        ProxyProtocol::V2 => (false, true),
        ProxyProtocol::Any => (true, true),
    };
    // Their first bytes differ.
    match bytes.first() {
        None => Outcome::Unfinished,
        Some(first) if v1 && v1::BEGINNING.first() == Some(first) => v1::parse(bytes),
        Some(first) if v2 && v2::SIGNATURE.first() == Some(first) => v2::parse(bytes),
        Some(_) => Outcome::Bad,
    }
}

/// Whether `bytes` and `expected` are the same as far as both go.
fn agrees(bytes: &[u8], expected: &[u8]) -> bool {
    bytes.iter().zip(expected).all(|(own, expected)| own == expected)
}
