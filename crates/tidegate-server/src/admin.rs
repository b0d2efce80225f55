//! The admin listener: metrics, health and status for those who run the process, in plain HTTP.
//!
//! It runs on the main thread, never on a worker of the gateway. Whoever asks has little time, little room and one request per
//! connection, so that nobody can hold it up for long.

mod overview;
mod status;
mod told;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::gateway::{listen, refuse_shared};
use crate::metrics::Exposition;

pub use overview::{Overview, Phase};

/// The most connections at one time. Beyond that, the oldest makes room: whoever asks in good faith has long been answered.
const MOST_CONNECTIONS: usize = 64;

/// What each of them is given before it may have to make room: many times what an answer takes.
const MOMENT: Duration = Duration::from_millis(50);

/// How long the head of a request may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may take, from its first byte to its last.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// Bytes of a request's head. hyper needs as many to read at all.
const MOST_HEADER_BYTES: usize = 8 * 1024;

/// Header fields of a request.
const MOST_HEADERS: usize = 64;

/// How long accepting rests when the system is out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The admin listener, bound and not yet serving.
#[derive(Debug)]
pub struct AdminListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl AdminListener {
    /// Binds `address`. Call it inside a runtime.
    ///
    /// # Errors
    /// The address cannot be listened on, for instance because another process does.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        refuse_shared(address)?;
        Self::bind_beside(address)
    }

    /// Binds `address`, which a process of the same user may be about to leave. Call it inside a runtime.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn bind_beside(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::from_std(listen(address)?)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with what `overview` sees, until the future is dropped.
    pub async fn run(self, overview: Arc<Overview>) -> Infallible {
        let mut connections = Connections::default();
        loop {
            tokio::select! {
                Some(_) = connections.open.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => connections.add(serve(stream, overview.clone())).await,
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    open: JoinSet<()>,
    /// Those that had their moment, in the order in which they came.
    old: VecDeque<AbortHandle>,
    new: VecDeque<AbortHandle>,
}

impl Connections {
    async fn add(&mut self, connection: impl Future<Output = ()> + Send + 'static) {
        while self.open.len() >= MOST_CONNECTIONS {
            self.make_room().await;
        }
        self.new.push_back(self.open.spawn(connection));
    }

    async fn make_room(&mut self) {
        for connections in [&mut self.old, &mut self.new] {
            connections.retain(|connection| !connection.is_finished());
        }
        if let Some(oldest) = self.old.pop_front() {
            oldest.abort();
            self.open.join_next().await;
        } else if timeout(MOMENT, self.open.join_next()).await.is_err() {
            self.old.append(&mut self.new);
        }
    }
}

async fn serve(stream: TcpStream, overview: Arc<Overview>) {
    let service = service_fn(|request: Request<_>| {
        let response = answer(&request, &overview);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MOST_HEADER_BYTES)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    // Whoever asked may be gone or slow; that is their loss.
    let _ = timeout(CONNECTION_TIMEOUT, connection).await;
}

fn answer<B>(request: &Request<B>, overview: &Arc<Overview>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/livez" => text(StatusCode::OK, "ok\n"),
        "/readyz" => ready(overview),
        "/metrics" => metrics(request.headers(), overview),
        "/status" => status(overview),
        "/" => text(StatusCode::OK, "/livez\n/readyz\n/metrics\n/status\n"),
        _ => text(
            StatusCode::NOT_FOUND,
            "there are /livez, /readyz, /metrics and /status\n",
        ),
    }
}

fn ready(overview: &Overview) -> Response<Full<Bytes>> {
    match overview.unready() {
        None => text(StatusCode::OK, "ok\n"),
        Some(why) => respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
    }
}

fn metrics(headers: &HeaderMap, overview: &Arc<Overview>) -> Response<Full<Bytes>> {
    let exposition = wanted(headers);
    match overview.metrics(exposition) {
        Ok(page) => respond(StatusCode::OK, exposition.media_type(), page),
        Err(_) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the metrics could not be written\n",
        ),
    }
}

/// OpenMetrics for those who name it, as Prometheus does; its older format for everybody else.
fn wanted(headers: &HeaderMap) -> Exposition {
    let accepted = headers.get_all(ACCEPT).iter();
    let named = accepted
        .filter_map(|accept| accept.to_str().ok())
        .flat_map(|accept| accept.split(','))
        .any(|range| range.trim_start().starts_with("application/openmetrics-text"));
    if named {
        Exposition::OpenMetrics
    } else {
        Exposition::Prometheus
    }
}

fn status(overview: &Overview) -> Response<Full<Bytes>> {
    respond(
        StatusCode::OK,
        "application/json",
        format!("{:#}\n", status::status(overview)),
    )
}

const TEXT: &str = "text/plain; charset=utf-8";

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    respond(status, TEXT, text)
}

fn respond(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    response
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn the_oldest_makes_room_once_it_had_its_moment() {
        let mut connections = Connections::default();
        for _ in 0..MOST_CONNECTIONS {
            connections.add(pending()).await;
        }
        let all: Vec<_> = connections.new.iter().cloned().collect();
        {
            let mut adding = pin!(connections.add(pending()));
            let added = adding.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(added.is_pending() && !all[0].is_finished());
        }
        connections.add(pending()).await;
        assert_eq!(connections.open.len(), MOST_CONNECTIONS);
        assert!(all[0].is_finished() && !all[1].is_finished());
    }

    #[tokio::test]
    async fn nobody_makes_room_who_does_not_have_to() {
        let mut connections = Connections::default();
        connections.add(pending()).await;
        for _ in 0..2 * MOST_CONNECTIONS {
            connections.add(async {}).await;
        }
        let mut all = connections.old.iter().chain(&connections.new);
        assert!(all.any(|connection| !connection.is_finished()));
    }

    #[test]
    fn openmetrics_is_for_those_who_name_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, exposition) in [
            (prometheus, Exposition::OpenMetrics),
            (
                "text/plain, application/openmetrics-text",
                Exposition::OpenMetrics,
            ),
            ("text/plain;version=0.0.4", Exposition::Prometheus),
            ("*/*", Exposition::Prometheus),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(wanted(&headers), exposition, "{accept}");
        }
        assert_eq!(wanted(&HeaderMap::new()), Exposition::Prometheus);
    }
}
