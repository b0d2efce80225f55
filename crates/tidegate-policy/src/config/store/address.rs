//! Addresses and URLs of stores.

use std::fmt;
use std::net::Ipv6Addr;
use std::num::NonZeroU16;
use std::str::FromStr;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// `host`, `host:port`, `[::1]` or `[::1]:port`.
    pub(crate) fn parse(text: &str, default_port: u16) -> Result<Self, AddressFault> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(AddressFault)?;
                host.parse::<Ipv6Addr>().map_err(|_| AddressFault)?;
                (host, port)
            }
            None => {
                let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
                if host.is_empty() || host.len() > MAX_HOST_BYTES || !host.bytes().all(allowed) {
                    return Err(AddressFault);
                }
                (host, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => default_port,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let port: NonZeroU16 = digits.parse().map_err(|_| AddressFault)?;
                port.get()
            }
            _ => return Err(AddressFault),
        };
        let host = host.to_owned();
        Ok(Self { host, port })
    }
}

/// The longest name of a host (RFC 1035, section 2.3.4).
const MAX_HOST_BYTES: usize = 253;

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

/// A text is not `host:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressFault;

/// The port of Redis.
pub(crate) const REDIS_PORT: u16 = 6379;

/// The longest path of a socket that Linux takes, without its final zero byte.
const MAX_SOCKET_BYTES: usize = 107;

/// A URL of a store, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// `redis://` or, with TLS, `rediss://`.
    Tcp {
        is_tls: bool,
        username: Option<String>,
        server: HostPort,
        database: Option<u32>,
    },
    /// `unix://` and a path.
    Unix(String),
}

/// Why a text is no URL of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlFault {
    /// It begins with none of the schemes.
    Scheme,
    /// It holds a password.
    Password,
    /// User, host or port is not one.
    Authority,
    /// What follows the host is not the number of a database.
    Database,
    /// The path of the socket is not absolute, or longer than the system takes.
    Socket,
}

impl StoreUrl {
    /// What begins like a URL, whatever the scheme.
    pub(crate) fn is_meant(text: &str) -> bool {
        text.contains("://")
    }
}

impl FromStr for StoreUrl {
    type Err = UrlFault;

    fn from_str(text: &str) -> Result<Self, UrlFault> {
        if let Some(path) = text.strip_prefix("unix://") {
            let fits = path.starts_with('/') && path.len() <= MAX_SOCKET_BYTES && !path.contains(['\0', '?']);
            return fits.then(|| Self::Unix(path.to_owned())).ok_or(UrlFault::Socket);
        }
        let (is_tls, rest) = match text.split_once("://") {
            Some(("redis", rest)) => (false, rest),
            Some(("rediss", rest)) => (true, rest),
            _ => return Err(UrlFault::Scheme),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, server) = match authority.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(UrlFault::Password);
        }
        // What is not written as it is would have to be decoded: there is a field for such names.
        if user.is_some_and(|user| user.is_empty() || user.contains(['%', '@'])) {
            return Err(UrlFault::Authority);
        }
        Ok(Self::Tcp {
            is_tls,
            username: user.map(str::to_owned),
            server: HostPort::parse(server, REDIS_PORT).map_err(|AddressFault| UrlFault::Authority)?,
            database: self::database(database)?,
        })
    }
}

fn database(text: &str) -> Result<Option<u32>, UrlFault> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.map(Some).ok_or(UrlFault::Database)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(
        is_tls: bool,
        username: Option<&str>,
        (host, port): (&str, u16),
        database: Option<u32>,
    ) -> StoreUrl {
        StoreUrl::Tcp {
            is_tls,
            username: username.map(str::to_owned),
            server: HostPort {
                host: host.to_owned(),
                port,
            },
            database,
        }
    }

    #[test]
    fn a_url_is_taken_apart() {
        for (url, parts) in [
            ("redis://a.test", tcp(false, None, ("a.test", 6379), None)),
            ("redis://a.test/", tcp(false, None, ("a.test", 6379), None)),
            ("rediss://u@[::1]:7/2", tcp(true, Some("u"), ("::1", 7), Some(2))),
            (
                "unix:///run/redis.sock",
                StoreUrl::Unix("/run/redis.sock".to_owned()),
            ),
        ] {
            assert_eq!(url.parse(), Ok(parts), "{url}");
        }
    }

    #[test]
    fn what_is_no_url_says_why() {
        for (url, fault) in [
            ("a.test:6379", UrlFault::Scheme),
            ("valkey://a.test", UrlFault::Scheme),
            ("redis://:secret@a.test", UrlFault::Password),
            ("redis://u:se@cret@a.test", UrlFault::Password),
            ("redis://", UrlFault::Authority),
            ("redis://a.test:", UrlFault::Authority),
            ("redis://a.test:0", UrlFault::Authority),
            ("redis://a.test:70000", UrlFault::Authority),
            ("redis://@a.test", UrlFault::Authority),
            ("redis://u%41@a.test", UrlFault::Authority),
            ("redis://a.test/first", UrlFault::Database),
            ("redis://a.test/+1", UrlFault::Database),
            ("redis://a.test/0?x=1", UrlFault::Database),
            ("redis://a.test/4294967296", UrlFault::Database),
            ("unix://run/redis.sock", UrlFault::Socket),
        ] {
            assert_eq!(url.parse::<StoreUrl>(), Err(fault), "{url}");
        }
        let socket = |bytes: usize| format!("unix:///{}", "a".repeat(bytes - 1)).parse::<StoreUrl>();
        assert!(socket(MAX_SOCKET_BYTES).is_ok());
        assert_eq!(socket(MAX_SOCKET_BYTES + 1), Err(UrlFault::Socket));
    }

    #[test]
    fn an_address_is_shown_as_it_is_written() {
        for text in ["a.test:6379", "127.0.0.1:1", "[::1]:6379"] {
            assert_eq!(
                HostPort::parse(text, 1).map(|address| address.to_string()),
                Ok(text.to_owned())
            );
        }
        let with_default = HostPort::parse("[fd00::1]", 26379).map(|address| address.to_string());
        assert_eq!(with_default, Ok("[fd00::1]:26379".to_owned()));
        for text in [
            "", ":1", "a:b", "a b", "a@b", "a/b", "::1:6379", "[::1", "[a]:1", "a:1:2", "a:+1", "a:0",
        ] {
            assert_eq!(HostPort::parse(text, 1), Err(AddressFault), "{text}");
        }
    }
}
