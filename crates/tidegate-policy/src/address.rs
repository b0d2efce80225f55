//! The client's address: who is behind the socket, as far as trusted proxies say.
//!
//! Every address is in canonical form before anything looks at it: an IPv4 address that arrives spelled as an
//! IPv4-mapped IPv6 one (`::ffff:192.0.2.1`, what a dual-stack listener delivers) is the IPv4 address.

mod entry;
mod part;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use http::HeaderMap;
use ipnet::IpNet;

use crate::Trust;

pub use part::AddressPart;

/// How many bytes of `X-Forwarded-For` are read, from the right and over all its lines. What is left of them is ignored.
const MAX_FORWARDED_BYTES: usize = 4096;

/// How many addresses of `X-Forwarded-For` are read, from the right.
const MAX_FORWARDED_ENTRIES: usize = 32;

impl Trust {
    /// Whether what `peer`, the other end of the socket, says about who came before it is believed.
    pub fn believes(&self, peer: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Proxies(networks) => covers(networks, peer.to_canonical()),
            Self::Hops(_) => true,
        }
    }

    /// The client's address, in canonical form, for a request from `peer` with these header fields.
    ///
    /// `X-Forwarded-For` is read from the right, all its lines as one list, and each entry is believed only as far as the
    /// address that reported it is trusted. So the client is the first address from the right that is not trusted; the
    /// leftmost if all are; and the last one understood if an entry is no address. Without trust in `peer` itself the field
    /// is not even looked at.
    pub fn client(&self, peer: IpAddr, fields: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        match self {
            Self::Nobody => peer,
            Self::Proxies(networks) => follow(peer, fields, |reporter| covers(networks, reporter)),
            Self::Hops(hops) => {
                let mut left = hops.get();
                follow(peer, fields, |_| {
                    let trusted = left > 0;
                    left = left.saturating_sub(1);
                    trusted
                })
            }
        }
    }
}

/// Walks `X-Forwarded-For` from the right, as long as the address that reported an entry is trusted.
fn follow(peer: IpAddr, fields: &HeaderMap, mut trusts: impl FnMut(IpAddr) -> bool) -> IpAddr {
    let mut client = peer;
    let mut entries = forwarded(fields);
    while trusts(client) {
        let Some(address) = entries.next().and_then(entry::address) else {
            break;
        };
        client = address;
    }
    client
}

/// The entries of `X-Forwarded-For` from the right, within the bounds. Empty list elements are no entries (RFC 9110, 5.6.1).
fn forwarded(fields: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let lines = fields.get_all("x-forwarded-for").iter().rev();
    let mut bytes_left = MAX_FORWARDED_BYTES;
    lines
        .flat_map(|line| line.as_bytes().rsplit(|&byte| byte == b','))
        .take_while(move |element| {
            let bytes = element.len() + 1;
            let fits = bytes <= bytes_left;
            bytes_left = bytes_left.saturating_sub(bytes);
            fits
        })
        .map(<[u8]>::trim_ascii)
        .filter(|element| !element.is_empty())
        .take(MAX_FORWARDED_ENTRIES)
}

/// Whether one of `networks` holds `address`, which is canonical. A network of mapped addresses (`::ffff:10.0.0.0/104`)
/// means the IPv4 network; a wider IPv6 network (`::/0`) does not reach IPv4 addresses.
fn covers(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| match (network, address) {
        (IpNet::V6(network), IpAddr::V4(address)) => {
            network.prefix_len() >= 96 && network.contains(&address.to_ipv6_mapped())
        }
        (network, address) => network.contains(&address),
    })
}
