//! Upstreams: the servers that requests are forwarded to, and how their health is watched.

mod url;

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use http::StatusCode;

pub use url::{ServerUrl, UpstreamError};

/// Servers that are each as good as another for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// What the file calls it; where only a URL is written, that.
    pub name: Box<str>,
    /// The servers, at least one, no URL twice.
    pub servers: Vec<Server>,
    /// How TLS to them is spoken. Only servers with `https://` look at it.
    pub tls: UpstreamTls,
    /// How the gateway asks them whether they are well. Default: it does not ask.
    pub health: Option<HealthCheck>,
    /// When a server that fails requests is left alone for a while. None: never.
    pub ejection: Option<Ejection>,
    /// How many times a request may be tried once more, where that is safe. Default: once.
    pub retries: u8,
}

/// One server of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub url: ServerUrl,
    /// Its share of the requests, in proportion to the weights of the others. Default: 1.
    pub weight: NonZeroU32,
}

/// How TLS to an upstream is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTls {
    /// The file with the roots that sign its certificates, as written. Default: those of the system.
    pub ca: Option<String>,
    /// The name that its certificates must have. Default: the host of each URL.
    pub server_name: Option<String>,
    /// The files with the gateway's own certificate and key, as written, for servers that want one.
    pub client: Option<ClientCertificate>,
    /// Any certificate will do, which means that anybody on the way can be the upstream.
    pub insecure_skip_verify: bool,
}

/// The gateway's own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file with the certificate and those that signed it.
    pub certificate: String,
    /// The file with its private key.
    pub key: String,
}

/// How the gateway asks a server whether it is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// What is asked for with `GET`.
    pub path: http::uri::PathAndQuery,
    /// The `Host` of the question. Default: that of the server's URL.
    pub host: Option<http::HeaderValue>,
    /// How often. Default: 5 s.
    pub every: Duration,
    /// How long an answer may take. Default: 1 s.
    pub timeout: Duration,
    /// So many good answers in a row make a sick server well. Default: 2.
    pub healthy_after: u32,
    /// So many bad answers in a row make a well server sick. Default: 3.
    pub unhealthy_after: u32,
    /// The statuses of good answers. Default: 200.
    pub expect: Vec<StatusCode>,
}

/// When a server that fails requests is left alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// After so many failures in a row. Default: 5.
    pub failures: u32,
    /// For so long; twice as long each time that it comes back and fails again. Default: 10 s.
    pub pause: Duration,
}

impl Default for Ejection {
    fn default() -> Self {
        Self {
            failures: 5,
            pause: Duration::from_secs(10),
        }
    }
}

impl Upstream {
    /// The default of [`Upstream::retries`].
    pub const DEFAULT_RETRIES: u8 = 1;

    /// An upstream of one server, called by its URL.
    pub fn at(url: ServerUrl) -> Self {
        Self {
            name: url.to_string().into(),
            servers: vec![Server {
                url,
                weight: NonZeroU32::MIN,
            }],
            tls: UpstreamTls::default(),
            health: None,
            ejection: Some(Ejection::default()),
            retries: Self::DEFAULT_RETRIES,
        }
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(url: &str) -> Result<Self, UpstreamError> {
        url.parse().map(Self::at)
    }
}

/// Its URL, or its name and the URLs of its servers.
impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &*self.servers
            && only.url.to_string() == *self.name
        {
            return f.write_str(&self.name);
        }
        write!(f, "{} (", self.name)?;
        for (index, server) in self.servers.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            server.url.fmt(f)?;
            if server.weight.get() != 1 {
                write!(f, " weight {}", server.weight)?;
            }
        }
        f.write_str(")")
    }
}
