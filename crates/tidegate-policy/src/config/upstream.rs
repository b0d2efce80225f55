//! Origins.

use std::fmt;
use std::str::FromStr;

use http::uri::Authority;

/// An origin reached over plain HTTP: `http://host` or `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream(Authority);

impl Upstream {
    /// Host and port, as written.
    pub fn authority(&self) -> &Authority {
        &self.0
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(url: &str) -> Result<Self, UpstreamError> {
        let rest = url
            .strip_prefix("http://")
            .ok_or(if url.starts_with("https://") {
                UpstreamError::Tls
            } else {
                UpstreamError::Scheme
            })?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(UpstreamError::Path);
        }
        let authority: Authority = rest.parse().map_err(|_| UpstreamError::Host)?;
        let port_is_number = authority.port().is_none() || authority.port_u16().is_some_and(|port| port > 0);
        if authority.host().is_empty() || rest.contains('@') || !port_is_number || rest.ends_with(':') {
            return Err(UpstreamError::Host);
        }
        Ok(Self(authority))
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

/// Why a text is no [`Upstream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It does not begin with `http://`.
    Scheme,
    /// It begins with `https://`, which this version does not speak to origins.
    Tls,
    /// It has a path, a query or a fragment.
    Path,
    /// Host or port is missing, empty or not one.
    Host,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "begin it with `http://`, such as `http://127.0.0.1:3000`",
            Self::Tls => "TLS to the upstream is not available in this version: write `http://`",
            Self::Path => "write no path, only `http://host:port`: requests keep their own path",
            Self::Host => "write `http://host` or `http://host:port`",
        })
    }
}

impl std::error::Error for UpstreamError {}
