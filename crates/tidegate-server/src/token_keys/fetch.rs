//! One key set, over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, HOST, USER_AGENT};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tidegate_policy::{BadKeySet, MAX_KEY_SET_BYTES};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long a whole exchange may take, from the look-up of the name to the last byte.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What an address answered.
pub(super) struct Fetched {
    pub(super) text: Bytes,
    /// How long it may be kept, if it says so.
    pub(super) max_age: Option<Duration>,
}

/// Why there is no key set.
#[derive(Debug)]
pub(super) enum FetchError {
    /// It took too long.
    Timeout,
    /// No connection, or none that could be trusted.
    Connect(std::io::Error),
    /// The exchange broke off, was no HTTP, or too long.
    Exchange(Box<dyn std::error::Error + Send + Sync>),
    /// Another status than 200. Redirects are not followed: keys come from where the file says.
    Status(StatusCode),
    /// What came is no key set.
    Bad(BadKeySet),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(f, "no answer within {} s", TIMEOUT.as_secs()),
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Exchange(error) => write!(f, "no answer: {error}"),
            Self::Status(status) if status.is_redirection() => {
                write!(
                    f,
                    "it redirects ({status}), which is not followed: write the final address"
                )
            }
            Self::Status(status) => write!(f, "it answers {status}"),
            Self::Bad(error) => error.fmt(f),
        }
    }
}

/// Fetches key sets. Certificates are verified against those of the system, or of `SSL_CERT_FILE`.
pub(super) struct Client {
    tls: TlsConnector,
}

impl Client {
    pub(super) fn new() -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            tls: TlsConnector::from(Arc::new(config)),
        }
    }

    /// What stands at `url`, at most [`MAX_KEY_SET_BYTES`].
    pub(super) async fn fetch(&self, url: &Uri) -> Result<Fetched, FetchError> {
        let exchange = self.exchange(url);
        tokio::time::timeout(TIMEOUT, exchange)
            .await
            .unwrap_or(Err(FetchError::Timeout))
    }

    async fn exchange(&self, url: &Uri) -> Result<Fetched, FetchError> {
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_tls = url.scheme_str() != Some("http");
        let port = url.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = TcpStream::connect((host, port))
            .await
            .map_err(FetchError::Connect)?;
        if !is_tls {
            return ask(TokioIo::new(stream), url).await;
        }
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| FetchError::Connect(std::io::Error::other(error)))?;
        let stream = self
            .tls
            .connect(name, stream)
            .await
            .map_err(FetchError::Connect)?;
        ask(TokioIo::new(stream), url).await
    }
}

async fn ask(io: impl Read + Write + Unpin + Send + 'static, url: &Uri) -> Result<Fetched, FetchError> {
    let (mut sender, connection) = http1::handshake(io).await.map_err(exchange)?;
    let answer = async {
        let response = sender.send_request(request(url)?).await.map_err(exchange)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let max_age = max_age(response.headers());
        let body = Limited::new(response.into_body(), MAX_KEY_SET_BYTES)
            .collect()
            .await;
        Ok(Fetched {
            text: body.map_err(FetchError::Exchange)?.to_bytes(),
            max_age,
        })
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        // The connection may end together with the response, which is then whole.
        _ = connection => answer.await,
    }
}

fn request(url: &Uri) -> Result<Request<Empty<Bytes>>, FetchError> {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let host = url.authority().map_or("", |authority| authority.as_str());
    Request::get(path)
        .header(HOST, host)
        .header(ACCEPT, "application/jwk-set+json, application/json")
        .header(USER_AGENT, concat!("tidegate/", env!("CARGO_PKG_VERSION")))
        .body(Empty::new())
        .map_err(|error| FetchError::Exchange(error.into()))
}

fn exchange(error: hyper::Error) -> FetchError {
    FetchError::Exchange(error.into())
}

/// How long `Cache-Control` lets an answer be kept.
fn max_age(fields: &HeaderMap) -> Option<Duration> {
    let lines = fields
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut directives = lines.flat_map(|line| line.split(',')).map(str::trim);
    let seconds = directives.find_map(|directive| {
        let (name, value) = directive.split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then_some(value)
    })?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_age_is_found_among_other_directives() {
        let age = |lines: &[&'static str]| {
            let mut fields = HeaderMap::new();
            for line in lines {
                fields.append(CACHE_CONTROL, http::HeaderValue::from_static(line));
            }
            max_age(&fields).map(|age| age.as_secs())
        };
        assert_eq!(age(&["public, Max-Age=600, must-revalidate"]), Some(600));
        assert_eq!(age(&["no-transform", "max-age=\"60\""]), Some(60));
        assert_eq!(age(&["s-maxage=600"]), None);
        assert_eq!(age(&["max-age=-1"]), None);
        assert_eq!(age(&[]), None);
    }
}
