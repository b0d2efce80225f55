//! `Forwarded` (RFC 7239): its elements from the right, and the node that one names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::canonical;

/// The elements of one line from the right.
///
/// A comma inside a quoted text ends nothing. Read from the right, what a client wrote in front cannot reach what proxies appended:
/// a quote that it opened and never closed lies to the left of their commas.
pub(super) fn elements_from_right(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        match last_outside_quotes(line, b',') {
            Some(comma) => {
                rest = Some(&line[..comma]);
                Some(&line[comma + 1..])
            }
            None => rest.take(),
        }
    })
}

/// The canonical address of the node that `element` says it got its request `for`. None if that is no address, such as `unknown`
/// or `_hidden`, if it is not said or said twice, or if the element is not written as the RFC has it.
pub(super) fn address(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    let mut rest = Some(element);
    while let Some(pairs) = rest {
        let semicolon = last_outside_quotes(pairs, b';');
        let pair = semicolon.map_or(pairs, |at| &pairs[at + 1..]).trim_ascii();
        rest = semicolon.map(|at| &pairs[..at]);
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
    }
    Some(canonical(node(found?)?))
}

/// Where `byte` stands last outside of quoted texts.
fn last_outside_quotes(text: &[u8], byte: u8) -> Option<usize> {
    let mut quoted = false;
    for (index, own) in text.iter().enumerate().rev() {
        match own {
            b'"' if !is_escaped(text, index) => quoted = !quoted,
            own if *own == byte && !quoted => return Some(index),
            _ => {}
        }
    }
    None
}

/// Whether the byte at `index` has an odd number of backslashes before it.
fn is_escaped(text: &[u8], index: usize) -> bool {
    let backslashes = text[..index]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    backslashes % 2 == 1
}

/// The address of a node: `192.0.2.1`, `"192.0.2.1:4711"`, `"[2001:db8::1]"`, `"[2001:db8::1]:_port"`. Quotes may be missing: proxies
/// forget them, and nothing else can be meant.
fn node(value: &[u8]) -> Option<IpAddr> {
    let value = std::str::from_utf8(value).ok()?;
    let value = match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?,
        None => value,
    };
    match value.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            is_port_or_nothing(after).then(|| address.parse::<Ipv6Addr>().ok().map(IpAddr::V6))?
        }
        None => {
            let digits = value.find(':').unwrap_or(value.len());
            let (address, after) = value.split_at(digits);
            is_port_or_nothing(after).then(|| address.parse::<Ipv4Addr>().ok().map(IpAddr::V4))?
        }
    }
}

fn is_port_or_nothing(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    match port.strip_prefix('_') {
        Some(hidden) => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            !hidden.is_empty() && hidden.bytes().all(allowed)
        }
        None => super::entry::is_port(port),
    }
}
