//! The client's address: who is behind the socket, as far as trusted proxies say.
//!
//! Every address is in canonical form before anything looks at it: an IPv4 address that arrives inside an IPv6 one (`::ffff:192.0.2.1`,
//! what a dual-stack listener delivers; `64:ff9b::192.0.2.1` from behind NAT64) is the IPv4 address.

mod canonical;
mod entry;
mod node;
mod part;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;

use crate::{ForwardedField, Gateway, Trust};

pub use canonical::canonical;
pub(crate) use canonical::canonical_network;
pub use part::{AddressPart, Prefixes};

/// How many bytes of the forwarded field are read, from the right and over all its lines. What is left of them is ignored.
const MAX_FORWARDED_BYTES: usize = 4096;

/// How many addresses of the forwarded field are read, from the right.
const MAX_FORWARDED_ENTRIES: usize = 32;

impl Gateway {
    /// The client's address, in canonical form, for a request from `peer` with these header fields.
    pub fn client(&self, peer: IpAddr, fields: &HeaderMap) -> IpAddr {
        self.trust.client(peer, fields, self.forwarded_field)
    }

    /// The same for a request that was sent to `caller`, a proxy that is believed about it and asks before it forwards. None if the field
    /// names nobody: then all clients of the proxy would be one.
    pub fn client_behind(&self, caller: IpAddr, fields: &HeaderMap) -> Option<IpAddr> {
        let (mut hops, mut reporters) = (1, 0_usize);
        if let Trust::Hops(count) = &self.trust {
            hops = count.get();
        }
        let trusts = |reporter| {
            reporters += 1;
            reporters <= usize::from(hops) || self.trust.names(reporter)
        };
        let client = follow(canonical(caller), fields, self.forwarded_field, trusts);
        (reporters > 1).then_some(client)
    }
}

impl Trust {
    /// Whether what `peer`, the other end of the socket, says about who came before it is believed.
    pub fn believes(&self, peer: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Proxies(networks) => covers(networks, canonical(peer)),
            Self::Hops(_) => true,
        }
    }

    /// Whether `peer` is one of the proxies that are known by their addresses.
    pub fn names(&self, peer: IpAddr) -> bool {
        matches!(self, Self::Proxies(networks) if covers(networks, canonical(peer)))
    }

    /// The client's address, in canonical form, for a request from `peer` with these header fields, of which `field` is looked at.
    ///
    /// The field is read from the right, all its lines as one list, and each entry is believed only as far as the
    /// address that reported it is trusted. So the client is the first address from the right that is not trusted; the
    /// leftmost if all are; and the last one understood if an entry is no address. Without trust in `peer` itself the field
    /// is not even looked at.
    pub fn client(&self, peer: IpAddr, fields: &HeaderMap, field: ForwardedField) -> IpAddr {
        let peer = canonical(peer);
        match self {
            Self::Nobody => peer,
            Self::Proxies(networks) => follow(peer, fields, field, |reporter| covers(networks, reporter)),
            Self::Hops(hops) => {
                let mut left = hops.get();
                follow(peer, fields, field, |_| {
                    let trusted = left > 0;
                    left = left.saturating_sub(1);
                    trusted
                })
            }
        }
    }
}

/// Walks `field` from the right, as long as the address that reported an entry is trusted.
fn follow(
    peer: IpAddr,
    fields: &HeaderMap,
    field: ForwardedField,
    trusts: impl FnMut(IpAddr) -> bool,
) -> IpAddr {
    let lines = fields
        .get_all(field.name())
        .iter()
        .rev()
        .map(HeaderValue::as_bytes);
    match field {
        ForwardedField::XForwardedFor => {
            let entries = within_bounds(lines.flat_map(|line| line.rsplit(|&byte| byte == b',')));
            walk(peer, entries.map(entry::address), trusts)
        }
        ForwardedField::Forwarded => {
            let entries = within_bounds(lines.flat_map(node::elements_from_right));
            walk(peer, entries.map(node::address), trusts)
        }
    }
}

fn walk(
    peer: IpAddr,
    mut entries: impl Iterator<Item = Option<IpAddr>>,
    mut trusts: impl FnMut(IpAddr) -> bool,
) -> IpAddr {
    let mut client = peer;
    while trusts(client) {
        let Some(address) = entries.next().flatten() else {
            break;
        };
        client = address;
    }
    client
}

/// The elements within the bounds. Empty list elements are no entries (RFC 9110, 5.6.1).
fn within_bounds<'f>(elements: impl Iterator<Item = &'f [u8]>) -> impl Iterator<Item = &'f [u8]> {
    let mut bytes_left = MAX_FORWARDED_BYTES;
    elements
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

/// Whether one of `networks` holds `address`, which is canonical. A network of mapped or NAT64 addresses (`::ffff:10.0.0.0/104`)
/// means the IPv4 network; a wider IPv6 network (`::/0`) does not reach IPv4 addresses.
pub(crate) fn covers(networks: &[IpNet], address: IpAddr) -> bool {
    networks
        .iter()
        .any(|network| canonical_network(*network).contains(&address))
}
