//! One entry of `X-Forwarded-For`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::canonical;

/// The canonical address that an entry names, without the port, brackets and zone that some proxies add:
/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `fe80::1%eth0`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
pub(super) fn address(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?;
    let address = match entry.strip_prefix('[') {
        Some(rest) => bracketed(rest)?,
        None if entry.matches(':').nth(1).is_some() => IpAddr::V6(v6(entry)?),
        None => IpAddr::V4(v4(entry)?),
    };
    Some(canonical(address))
}

fn bracketed(rest: &str) -> Option<IpAddr> {
    let (inside, after) = rest.split_once(']')?;
    let port_is_good = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
    port_is_good.then(|| v6(inside).map(IpAddr::V6))?
}

fn v6(text: &str) -> Option<Ipv6Addr> {
    match text.split_once('%') {
        Some((_, "")) => None,
        Some((address, _zone)) => address.parse().ok(),
        None => text.parse().ok(),
    }
}

fn v4(text: &str) -> Option<Ipv4Addr> {
    match text.split_once(':') {
        Some((address, port)) if is_port(port) => address.parse().ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

pub(super) fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
