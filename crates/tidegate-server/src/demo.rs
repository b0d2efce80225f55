//! A small origin to try the gateway with. It answers every request with what it was told: as JSON, and as a page that
//! sends requests and shows the limit at work to browsers.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{io, pin};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The most connections held at one time; more wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;

/// How long accepting rests when the system is out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const PAGE: &str = include_str!("demo/page.html");

/// The demo origin, bound and not yet serving.
#[derive(Debug)]
pub struct DemoOrigin {
    listener: TcpListener,
    address: SocketAddr,
}

impl DemoOrigin {
    /// Binds a loopback port of the system's choice.
    ///
    /// # Errors
    /// When the system has no loopback port to give.
    pub async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is ready. Connections that are open then are closed.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let requests = Arc::new(AtomicU64::new(0));
        let mut connections = JoinSet::new();
        let mut stop = pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => return,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => { connections.spawn(serve_connection(stream, Arc::clone(&requests))); }
                    Err(error) => {
                        tracing::debug!(%error, "the demo origin could not accept a connection");
                        // Out of file descriptors mostly; they come back when connections end.
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, requests: Arc<AtomicU64>) {
    let service = service_fn(|request: Request<_>| {
        // A plain count: nothing else is read because of it.
        let count = requests.fetch_add(1, Ordering::Relaxed) + 1;
        let response = answer(&request, count);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the demo origin ended early");
    }
}

fn answer<B>(request: &Request<B>, count: u64) -> Response<Full<Bytes>> {
    let seen = json!({
        "message": "The demo origin answers: Tidegate let this request through.",
        "method": request.method().as_str(),
        "path": request.uri().path_and_query().map_or("/", |path| path.as_str()),
        "requests": count,
        "told_by_tidegate": told(request.headers()),
    });
    let (media_type, body) = if prefers_html(request.headers()) {
        ("text/html; charset=utf-8", page(&seen))
    } else {
        ("application/json", format!("{seen:#}\n"))
    };
    let mut response = Response::new(Full::from(body));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// The request fields that Tidegate added.
fn told(headers: &HeaderMap) -> Map<String, Value> {
    headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-tidegate-"))
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect()
}

fn prefers_html(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|value| value.to_str().is_ok_and(|text| text.contains("text/html")))
}

/// The page, with `seen` in a script element: no `<` of it may end that element.
fn page(seen: &Value) -> String {
    PAGE.replace("__SEEN__", &seen.to_string().replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;

    async fn body(request: Request<()>) -> String {
        let bytes = answer(&request, 7)
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn curl_gets_json_with_what_the_origin_was_told() {
        let request = Request::post("/orders?page=2")
            .header("accept", "*/*")
            .header("x-tidegate-verdict", "pass")
            .header("cookie", "secret")
            .body(())
            .unwrap();
        let seen: Value = serde_json::from_str(&body(request).await).unwrap();
        assert_eq!(seen["method"], "POST");
        assert_eq!(seen["path"], "/orders?page=2");
        assert_eq!(seen["requests"], 7);
        assert_eq!(seen["told_by_tidegate"], json!({ "x-tidegate-verdict": "pass" }));
    }

    #[tokio::test]
    async fn a_browser_gets_the_page_and_nothing_in_a_request_can_end_its_script() {
        let request = Request::get("/")
            .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("x-tidegate-subject", "</script><b>")
            .body(())
            .unwrap();
        let page = body(request).await;
        assert!(page.starts_with("<!doctype html>"));
        assert!(page.contains(r"\u003c/script>\u003cb>"), "{page}");
        assert!(!page.contains("__SEEN__"));
    }

    #[tokio::test]
    async fn it_serves_on_a_loopback_port_until_told_to_stop() {
        let origin = DemoOrigin::bind().await.unwrap();
        let address = origin.address();
        assert!(address.ip().is_loopback());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(origin.run(async { stopped.await.unwrap_or(()) }));

        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");

        stop.send(()).unwrap();
        serving.await.unwrap();
        assert!(
            TcpStream::connect(address).await.is_err(),
            "the port is given back"
        );
    }
}
