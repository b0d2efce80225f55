//! The bytes an address is counted by.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::canonical;

/// How many leading bits of an address count as one client. More than there are mean all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Of IPv4.
    pub v4: u8,
    /// Of IPv6.
    pub v6: u8,
}

impl Prefixes {
    /// IPv4 whole, and IPv6 by its first `bits` bits.
    pub fn ipv6(bits: u8) -> Self {
        Self { v4: 32, v6: bits }
    }
}

/// The bytes that an address is counted by: its prefix, and how long that is.
///
/// One household or machine usually owns a whole /64, so counting single IPv6 addresses would limit nobody.
/// Different clients have different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressPart {
    bytes: [u8; 17],
    len: u8,
}

impl AddressPart {
    /// The bytes that `address` is counted by when so many leading bits are one client.
    ///
    /// IPv4 addresses inside IPv6 ones are counted as IPv4: clients behind NAT64 would else all share one /64.
    pub fn new(address: IpAddr, prefixes: Prefixes) -> Self {
        match canonical(address) {
            IpAddr::V4(address) => Self::v4(address, prefixes.v4.min(32)),
            IpAddr::V6(address) => Self::v6(address, prefixes.v6.min(128)),
        }
    }

    /// Whole addresses are their four bytes; networks end with their prefix.
    fn v4(address: Ipv4Addr, prefix: u8) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        let mut bytes = [0; 17];
        bytes[..4].copy_from_slice(&(address.to_bits() & mask).to_be_bytes());
        bytes[4] = prefix;
        let len = if prefix == 32 { 4 } else { 5 };
        Self { bytes, len }
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
            [a, b, c, d, prefix, ..] if self.len == 5 => write!(f, "{}/{prefix}", Ipv4Addr::new(a, b, c, d)),
            [.., prefix] => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&self.bytes[..16]);
                write!(f, "{}/{prefix}", Ipv6Addr::from(octets))
            }
        }
    }
}
