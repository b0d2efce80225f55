//! Hosts: patterns of them, and the one spelling under which they are compared.

use std::borrow::Cow;

/// A pattern of hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostPattern {
    /// `api.example.com`.
    Exact(String),
    /// Every name below this one: `*.example.com` is kept as `example.com`.
    Below(String),
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostFault {
    Port,
    Wildcard,
    NoHost,
}

/// The longest host name (RFC 1035, section 2.3.4).
pub(crate) const MAX_HOST_BYTES: usize = 255;

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, HostFault> {
        let is_ipv6 = text.starts_with('[') && text.ends_with(']');
        if text.contains(':') && !is_ipv6 {
            return Err(HostFault::Port);
        }
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        if name.contains('*') {
            return Err(HostFault::Wildcard);
        }
        let name = normal(name).into_owned();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let is_host =
            !name.is_empty() && name.len() <= MAX_HOST_BYTES && (is_ipv6 || name.bytes().all(is_name));
        if !is_host || name.starts_with('.') || name.contains("..") {
            return Err(HostFault::NoHost);
        }
        Ok(if below {
            Self::Below(name)
        } else {
            Self::Exact(name)
        })
    }

    /// Whether every host that `other` matches is matched by this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_below = |name: &str, above: &str| {
            name.strip_suffix(above)
                .is_some_and(|front| front.len() > 1 && front.ends_with('.'))
        };
        match (self, other) {
            (Self::Exact(own), Self::Exact(name)) => own == name,
            (Self::Exact(_), Self::Below(_)) => false,
            (Self::Below(own), Self::Exact(name)) => is_below(name, own),
            (Self::Below(own), Self::Below(name)) => own == name || is_below(name, own),
        }
    }
}

/// `host` in small letters, without port and without the root's dot. Allocates only when there are capitals.
pub fn normal(host: &str) -> Cow<'_, str> {
    let host = without_port(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(host.to_ascii_lowercase());
    }
    Cow::Borrowed(host)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_compared_without_case_port_and_final_dot() {
        for host in [
            "example.com",
            "EXAMPLE.com:8080",
            "example.com.",
            "Example.COM.:443",
            "example.com:",
        ] {
            assert_eq!(normal(host), "example.com", "{host}");
        }
        assert_eq!(normal("[2001:DB8::1]:80"), "[2001:db8::1]");
        assert_eq!(normal("[::1]"), "[::1]");
        assert_eq!(normal(""), "");
    }

    #[test]
    fn patterns_that_could_never_match_are_refused() {
        for (text, fault) in [
            ("example.com:80", HostFault::Port),
            ("http://example.com", HostFault::Port),
            ("a.*.com", HostFault::Wildcard),
            ("*", HostFault::Wildcard),
            ("exa mple", HostFault::NoHost),
            ("a..b", HostFault::NoHost),
            ("*.", HostFault::NoHost),
        ] {
            assert_eq!(HostPattern::parse(text), Err(fault), "{text}");
        }
        assert_eq!(
            HostPattern::parse("*.Example.com"),
            Ok(HostPattern::Below("example.com".into()))
        );
        assert_eq!(
            HostPattern::parse("[::1]"),
            Ok(HostPattern::Exact("[::1]".into()))
        );
    }
}
