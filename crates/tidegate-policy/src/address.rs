//! The client's address: who is behind the socket, as far as trusted proxies say.

use std::net::IpAddr;

use http::HeaderMap;

use crate::Trust;

impl Trust {
    /// The client's address, in canonical form, for a request from `peer` with these header fields.
    pub fn client(&self, peer: IpAddr, fields: &HeaderMap) -> IpAddr {
        let _ = fields;
        peer.to_canonical()
    }
}

/// The bytes that an address is counted by: an IPv4 address, or the first bits of an IPv6 address and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressPart {
    bytes: [u8; 17],
    len: u8,
}

impl AddressPart {
    /// The bytes that `address` is counted by when `ipv6_prefix` leading bits of an IPv6 address are one client.
    /// More than 128 bits are 128.
    pub fn new(address: IpAddr, ipv6_prefix: u8) -> Self {
        let _ = (address, ipv6_prefix);
        Self {
            bytes: [0; 17],
            len: 0,
        }
    }
}

impl AsRef<[u8]> for AddressPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
