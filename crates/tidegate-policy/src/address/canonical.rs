//! One spelling for each address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

/// The well-known prefix under which NAT64 puts IPv4 addresses (RFC 6052, section 2.1).
const NAT64: u128 = 0x0064_ff9b << 96;

/// `address` as everything here compares and counts it: the IPv4 address, where an IPv6 one only carries it, be it mapped
/// (`::ffff:192.0.2.1`) or behind NAT64 (`64:ff9b::192.0.2.1`).
pub fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => inner(v6).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// A network of mapped or NAT64 addresses means the IPv4 network.
pub(crate) fn canonical_network(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else {
        return network;
    };
    let v4 = inner(v6.network()).zip(v6.prefix_len().checked_sub(96));
    let v4 = v4.and_then(|(address, length)| Ipv4Net::new(address, length).ok());
    v4.map_or(network, IpNet::V4)
}

fn inner(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let nat64 = address.to_bits() >> 32 == NAT64 >> 32;
    let octets = address.octets();
    let last = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    address.to_ipv4_mapped().or(nat64.then_some(last))
}
