//! URLs of servers.

use std::fmt;
use std::str::FromStr;

use http::uri::Authority;

/// Where a server is: `http://host:port`, `https://host:port` or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerUrl {
    /// Plain TCP.
    Http(Authority),
    /// TLS over TCP.
    Https(Authority),
    /// A socket in the file system.
    Unix(Box<str>),
}

impl ServerUrl {
    /// The longest path of a socket that Linux takes, without its final zero byte.
    pub const MAX_SOCKET_BYTES: usize = 107;

    /// What the server is called in `Host`.
    pub fn authority(&self) -> Authority {
        match self {
            Self::Http(authority) | Self::Https(authority) => authority.clone(),
            Self::Unix(_) => Authority::from_static("localhost"),
        }
    }

    /// The host without the brackets of IPv6, and the port; none for a socket in the file system.
    pub fn host_and_port(&self) -> Option<(&str, u16)> {
        let (authority, default) = match self {
            Self::Http(authority) => (authority, 80),
            Self::Https(authority) => (authority, 443),
            Self::Unix(_) => return None,
        };
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        Some((bare.unwrap_or(host), authority.port_u16().unwrap_or(default)))
    }

    /// Whether TLS is spoken.
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Https(_))
    }

    /// Whether `text` is meant to be a URL and not a name.
    pub(crate) fn is_meant(text: &str) -> bool {
        text.contains([':', '/'])
    }
}

impl FromStr for ServerUrl {
    type Err = UpstreamError;

    fn from_str(url: &str) -> Result<Self, UpstreamError> {
        if let Some(path) = url.strip_prefix("unix:") {
            let fits = path.starts_with('/') && path.len() <= Self::MAX_SOCKET_BYTES && !path.contains('\0');
            return if fits {
                Ok(Self::Unix(path.into()))
            } else {
                Err(UpstreamError::Socket)
            };
        }
        if let Some(rest) = url.strip_prefix("http://") {
            return authority(rest).map(Self::Http);
        }
        let rest = url.strip_prefix("https://").ok_or(UpstreamError::Scheme)?;
        authority(rest).map(Self::Https)
    }
}

fn authority(rest: &str) -> Result<Authority, UpstreamError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#']) {
        return Err(UpstreamError::Path);
    }
    let authority: Authority = rest.parse().map_err(|_| UpstreamError::Host)?;
    let port_is_number = authority.port().is_none() || authority.port_u16().is_some_and(|port| port > 0);
    if authority.host().is_empty() || rest.contains('@') || !port_is_number || rest.ends_with(':') {
        return Err(UpstreamError::Host);
    }
    Ok(authority)
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(authority) => write!(f, "http://{authority}"),
            Self::Https(authority) => write!(f, "https://{authority}"),
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

/// Why a text is no [`ServerUrl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It begins neither with `http://` nor with `https://` nor with `unix:`.
    Scheme,
    /// It has a path, a query or a fragment.
    Path,
    /// Host or port is missing, empty or not one.
    Host,
    /// The path of the socket is not absolute, or longer than the system takes.
    Socket,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "begin it with `http://` or `https://`, such as `http://127.0.0.1:3000`",
            Self::Path => "write no path, only `http://host:port`: requests keep their own path",
            Self::Host => "write `http://host` or `http://host:port`",
            Self::Socket => "write `unix:` and an absolute path of at most 107 bytes: `unix:/run/app.sock`",
        })
    }
}

impl std::error::Error for UpstreamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_shown() {
        for url in [
            "http://a.test",
            "http://127.0.0.1:3000",
            "https://[::1]:8443",
            "unix:/run/app.sock",
        ] {
            assert_eq!(url.parse::<ServerUrl>().unwrap().to_string(), url);
        }
    }

    #[test]
    fn what_is_no_url_says_why() {
        for (url, error) in [
            ("127.0.0.1:3000", UpstreamError::Scheme),
            ("ftp://a", UpstreamError::Scheme),
            ("https://a/b", UpstreamError::Path),
            ("http://a?b", UpstreamError::Path),
            ("http://u@a", UpstreamError::Host),
            ("http://a:0", UpstreamError::Host),
            ("https://a:", UpstreamError::Host),
            ("unix:app.sock", UpstreamError::Socket),
        ] {
            assert_eq!(url.parse::<ServerUrl>(), Err(error), "{url}");
        }
        let socket = |bytes: usize| format!("unix:/{}", "a".repeat(bytes - 1)).parse::<ServerUrl>();
        assert!(socket(ServerUrl::MAX_SOCKET_BYTES).is_ok());
        assert_eq!(
            socket(ServerUrl::MAX_SOCKET_BYTES + 1),
            Err(UpstreamError::Socket)
        );
    }

    #[test]
    fn the_port_is_that_of_the_scheme_where_none_is_written() {
        let at = |url: &str| {
            let url: ServerUrl = url.parse().unwrap();
            url.host_and_port().map(|(host, port)| (host.to_owned(), port))
        };
        assert_eq!(at("http://[::1]"), Some(("::1".into(), 80)));
        assert_eq!(at("https://a.test"), Some(("a.test".into(), 443)));
        assert_eq!(at("https://a.test:80"), Some(("a.test".into(), 80)));
        assert_eq!(at("unix:/a"), None);
    }
}
