//! Who asks.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::error::causes;
use crate::tls::{Tls, unused};
use crate::{Answer, Call, Check, Error};

/// How long an answer may take, unless something else is said. One within a machine or a data centre takes less than a millisecond.
pub const TIMEOUT: Duration = Duration::from_millis(25);

/// The longest answer that is read, in bytes.
pub const MOST_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// How many questions are on their way at one time, unless something else is said. Each has a connection to itself.
pub const MOST_AT_ONCE: usize = 1000;

/// How long a connection rests before it is closed. Shorter than the service's own patience, so that it is the service that closes none under a question.
const IDLE: Duration = Duration::from_secs(30);

/// How long a connection may take to come about, where nobody waits for it any more.
const CONNECT: Duration = Duration::from_secs(5);

/// Asks one Tidegate service. Clones share its connections.
///
/// A service that was gone is found again by the next question: nothing is remembered of failures.
#[derive(Clone, Debug)]
pub struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Uri,
    timeout: Duration,
    at_once: Arc<Semaphore>,
}

/// What can be asked: a [`Check`] or a [`Call`].
pub trait Question: Serialize + Sync + sealed::Sealed {}

impl Question for Check {}
impl Question for Call {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Check {}
    impl Sealed for crate::Call {}
}

#[derive(Serialize)]
struct Batch<'c, Q> {
    checks: &'c [Q],
}

#[derive(Deserialize)]
struct Answers {
    results: Vec<Answer>,
}

impl Client {
    /// Asks the check door at `url`, such as `http://127.0.0.1:8082` or `https://tidegate.internal:8443`, with the roots of the system. Connects when first asked.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::BadTls`]
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::with_tls(url, &Tls::new())
    }

    /// The same, where `tls` says how `https` is spoken.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::BadTls`]
    pub fn with_tls(url: &str, tls: &Tls) -> Result<Self, Error> {
        let url = door(url)?;
        let connector = connector(&url, tls)?;
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Ok(Self {
            http,
            url,
            timeout: TIMEOUT,
            at_once: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        })
    }

    /// Waits so long for an answer, connecting included. Where a leaky bucket lets requests wait, its `max_delay` comes on top.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Has at most so many questions on their way at one time, of all clones together. Others wait their turn, within the timeout.
    #[must_use]
    pub fn with_most_at_once(self, most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            at_once: Arc::new(Semaphore::new(most)),
            ..self
        }
    }

    /// Asks one question: about a request ([`Check`]), or about descriptors ([`Call`]).
    ///
    /// # Errors
    /// [`Error`]
    pub async fn check(&self, question: &impl Question) -> Result<Answer, Error> {
        self.ask(question).await
    }

    /// Asks up to 100 questions at once. Each is decided by itself, and of those about one counter the first comes first. Answers are in their order.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Unclear`] for more, or if one of them is not clear: nothing is spent then.
    pub async fn check_all<Q: Question>(&self, questions: &[Q]) -> Result<Vec<Answer>, Error> {
        let Answers { results } = self.ask(&Batch { checks: questions }).await?;
        match results.len() == questions.len() {
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
            StatusCode::SERVICE_UNAVAILABLE => Err(Error::Overloaded),
            _ => Err(Error::Unexpected { status }),
        }
    }

    async fn exchange(&self, question: Vec<u8>) -> Result<(StatusCode, Bytes), Error> {
        let turn = self.at_once.acquire().await;
        let _turn = turn.map_err(|error| Error::Unreachable(error.into()))?;
        let question = Bytes::from(question);
        let mut response = self.http.request(self.request(question.clone())).await;
        if let Err(error) = &response
            && was_closed(error)
        {
            response = self.http.request(self.request(question)).await;
        }
        let response = response.map_err(|error| Error::Unreachable(error.into()))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_ANSWER_BYTES)
            .collect()
            .await;
        Ok((status, body.map_err(Error::Garbled)?.to_bytes()))
    }

    fn request(&self, question: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(question));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.url.clone();
        let json = http::HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        request
    }
}

/// Whether a connection was closed in place of an answer: by a service that stops, mostly, which had not read the question yet. It is asked once more then; at worst, if
/// it died just now, it counts twice.
fn was_closed(error: &legacy::Error) -> bool {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let closed = cause.downcast_ref::<hyper::Error>();
        let broken = cause.downcast_ref::<std::io::Error>();
        closed.is_some_and(hyper::Error::is_incomplete_message)
            || broken.is_some_and(|error| {
                matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
            })
    };
    !error.is_connect() && causes(error).any(is_closed)
}

/// Where questions are asked at the door that `url` names.
fn door(url: &str) -> Result<Uri, Error> {
    let url: Uri = url.parse().map_err(|_| Error::BadUrl)?;
    let is_bare = url.path_and_query().is_none_or(|path| path.as_str() == "/");
    let (Some(scheme @ ("http" | "https")), Some(authority), true) =
        (url.scheme_str(), url.authority(), is_bare)
    else {
        return Err(Error::BadUrl);
    };
    // Nobody would look at them.
    if authority.as_str().contains('@') {
        return Err(Error::BadUrl);
    }
    Uri::builder()
        .scheme(scheme)
        .authority(authority.clone())
        .path_and_query("/v1/check")
        .build()
        .map_err(|_| Error::BadUrl)
}

fn connector(url: &Uri, tls: &Tls) -> Result<HttpsConnector<HttpConnector>, Error> {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.enforce_http(false);
    let builder = HttpsConnectorBuilder::new();
    if url.scheme_str() == Some("http") {
        let builder = builder.with_tls_config(unused()?).https_or_http();
        return Ok(builder.enable_http1().wrap_connector(tcp));
    }
    let builder = builder.with_tls_config(tls.config()?).https_only();
    let builder = match tls.name()? {
        Some(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
        None => builder,
    };
    Ok(builder.enable_http1().wrap_connector(tcp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_a_host_and_nothing_else() {
        for good in [
            "http://127.0.0.1:8082",
            "http://tidegate/",
            "http://[::1]:8082",
            "https://tidegate",
            "https://[::1]:8443/",
        ] {
            assert!(door(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1:8082",
            "ftp://tidegate",
            "http://tidegate/v1",
            "https://tidegate?a",
            "http://user:secret@tidegate",
            "http://",
            "/v1/check",
        ] {
            assert!(matches!(Client::new(bad), Err(Error::BadUrl)), "{bad}");
        }
    }
}
