//! Who asks.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Answer, Check, Error};

/// How long an answer may take, unless something else is said. One within a machine or a data centre takes less than a millisecond.
pub const TIMEOUT: Duration = Duration::from_millis(25);

/// The longest answer that is read, in bytes.
pub const MOST_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// How long a connection rests before it is closed. Shorter than the service's own patience, so that it is the service that closes none under a question.
const IDLE: Duration = Duration::from_secs(30);

/// Asks one Tidegate service. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    url: Uri,
    timeout: Duration,
}

#[derive(Serialize)]
struct Batch<'c> {
    checks: &'c [Check],
}

#[derive(Deserialize)]
struct Answers {
    results: Vec<Answer>,
}

impl Client {
    /// Asks the check door at `url`, such as `http://127.0.0.1:8082`. Connects when first asked.
    ///
    /// # Errors
    /// [`Error::BadUrl`]
    pub fn new(url: &str) -> Result<Self, Error> {
        let url: Uri = url.parse().map_err(|_| Error::BadUrl)?;
        let is_bare = url.path_and_query().is_none_or(|path| path.as_str() == "/");
        let authority = url
            .authority()
            .filter(|_| is_bare && url.scheme_str() == Some("http"));
        let url = Uri::builder()
            .scheme("http")
            .authority(authority.ok_or(Error::BadUrl)?.clone())
            .path_and_query("/v1/check")
            .build()
            .map_err(|_| Error::BadUrl)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Ok(Self {
            http,
            url,
            timeout: TIMEOUT,
        })
    }

    /// Waits so long for an answer, connecting included. Where a leaky bucket lets requests wait, its `max_delay` comes on top.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Asks about one request.
    ///
    /// # Errors
    /// [`Error`]
    pub async fn check(&self, check: &Check) -> Result<Answer, Error> {
        self.ask(check).await
    }

    /// Asks about up to 100 requests, each of which is decided by itself, in their order.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Unclear`] for more.
    pub async fn check_all(&self, checks: &[Check]) -> Result<Vec<Answer>, Error> {
        let Answers { results } = self.ask(&Batch { checks }).await?;
        match results.len() == checks.len() {
            true => Ok(results),
            false => Err(Error::Garbled("it does not answer every question".into())),
        }
    }

    async fn ask<A: DeserializeOwned>(&self, question: &impl Serialize) -> Result<A, Error> {
        let question = serde_json::to_vec(question).map_err(|error| Error::Garbled(error.into()))?;
        let answer = tokio::time::timeout(self.timeout, self.exchange(question));
        let (status, bytes) = answer.await.map_err(|_| Error::Timeout)??;
        match status {
            StatusCode::OK => serde_json::from_slice(&bytes).map_err(|error| Error::Garbled(error.into())),
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => Err(Error::Unclear {
                status,
                document: String::from_utf8_lossy(&bytes).into_owned(),
            }),
            _ => Err(Error::Unexpected { status }),
        }
    }

    async fn exchange(&self, question: Vec<u8>) -> Result<(StatusCode, Bytes), Error> {
        let mut request = Request::new(Full::from(question));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.url.clone();
        let json = http::HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let response = self.http.request(request).await;
        let response = response.map_err(|error| Error::Unreachable(error.into()))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_ANSWER_BYTES)
            .collect()
            .await;
        Ok((status, body.map_err(Error::Garbled)?.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_a_host_and_nothing_else() {
        for good in ["http://127.0.0.1:8082", "http://tidegate/", "http://[::1]:8082"] {
            assert!(Client::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1:8082",
            "https://tidegate",
            "http://tidegate/v1",
            "http://",
            "/v1/check",
        ] {
            assert!(matches!(Client::new(bad), Err(Error::BadUrl)), "{bad}");
        }
    }
}
