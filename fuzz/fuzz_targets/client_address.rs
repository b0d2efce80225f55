//! Whatever `X-Forwarded-For` or `Forwarded` says, the client is an address in canonical form, and the peer if nobody is trusted.
#![no_main]

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU8;

use http::HeaderMap;
use http::header::HeaderValue;
use libfuzzer_sys::fuzz_target;
use tidegate_policy::{ForwardedField, Trust, canonical};

fuzz_target!(|input: (u128, u8, bool, Vec<Vec<u8>>)| {
    let (peer, hops, is_standard, lines) = input;
    let field = if is_standard {
        ForwardedField::Forwarded
    } else {
        ForwardedField::XForwardedFor
    };
    let peer = IpAddr::V6(Ipv6Addr::from(peer));
    let mut fields = HeaderMap::new();
    for value in lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        fields.append(field.name(), value);
    }
    assert_eq!(Trust::Nobody.client(peer, &fields, field), canonical(peer));

    let everyone = ["0.0.0.0/0", "::/0"].iter().filter_map(|network| network.parse().ok()).collect();
    let mut trusts = vec![Trust::Proxies(everyone), Trust::Proxies(Vec::new())];
    trusts.extend(NonZeroU8::new(hops).map(Trust::Hops));
    for trust in trusts {
        let client = trust.client(peer, &fields, field);
        assert_eq!(client, canonical(client));
        if fields.is_empty() {
            assert_eq!(client, canonical(peer));
        }
    }
});
