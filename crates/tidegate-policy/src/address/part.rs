//! The bytes an address is counted by.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bytes that an address is counted by: an IPv4 address whole, an IPv6 address by its prefix.
///
/// One household or machine usually owns a whole /64, so counting single IPv6 addresses would limit nobody.
/// Different clients have different bytes: those of IPv6 end with the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressPart {
    bytes: [u8; 17],
    len: u8,
}

impl AddressPart {
    /// The bytes that `address` is counted by when `ipv6_prefix` leading bits of an IPv6 address are one client.
    /// More than 128 bits are 128.
    ///
    /// IPv4 addresses inside IPv6 ones are counted as IPv4 where a translator put them there: IPv4-mapped, and NAT64's
    /// well-known prefix `64:ff9b::/96` (RFC 6052), whose clients would else all share one /64.
    pub fn new(address: IpAddr, ipv6_prefix: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::v4(address),
            IpAddr::V6(address) => match translated(address) {
                Some(address) => Self::v4(address),
                None => Self::v6(address, ipv6_prefix.min(128)),
            },
        }
    }

    fn v4(address: Ipv4Addr) -> Self {
        let mut bytes = [0; 17];
        bytes[..4].copy_from_slice(&address.octets());
        Self { bytes, len: 4 }
    }

    fn v6(address: Ipv6Addr, prefix: u8) -> Self {
        let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(&(address.to_bits() & mask).to_be_bytes());
        bytes[16] = prefix;
        Self { bytes, len: 17 }
    }
}

impl AsRef<[u8]> for AddressPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// An address, or a network with its prefix.
impl fmt::Display for AddressPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            [a, b, c, d, ..] if self.len == 4 => Ipv4Addr::new(a, b, c, d).fmt(f),
            [.., prefix] => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&self.bytes[..16]);
                write!(f, "{}/{prefix}", Ipv6Addr::from(octets))
            }
        }
    }
}

/// The IPv4 address behind NAT64's well-known prefix.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}
