//! One client connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use hyper::service::service_fn;
use tidegate_policy::{Door, Tls};
use tidegate_store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::body::Owed;
use super::client::{Client, ClientIo, Phase, Protocol};
use super::crowd::Seat;
use super::fields::Origin;
use super::proxy_header::{self, Outcome, Source};
use super::raw;
use super::secure::{FIRST_BYTES, Secured, more, refuse, secure};
use super::session::Session;
use super::stream::Stream;
use super::worker::Worker;
use crate::record::Record;
use crate::tls::TlsListener;

/// How an HTTP/2 client begins (RFC 9113 section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The most a closing client is listened to, so that it reads the last response before a reset.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 256 * 1024;

/// A connection of which nothing is known yet.
pub(crate) struct Accepted {
    pub(crate) tcp: TcpStream,
    /// What was read from it already, and belongs to TLS or HTTP.
    pub(crate) early: BytesMut,
    /// Who opened it.
    pub(crate) peer: IpAddr,
    /// Which of the settings' listeners it came to.
    pub(crate) listener: usize,
}

/// Serves a connection until either side is done with it.
pub(crate) async fn serve<S: Store>(worker: Rc<Worker<S>>, accepted: Accepted) {
    let settings = &worker.settings;
    let client = Client::new(
        &worker.deadlines,
        settings.timeouts,
        settings.bounds.requests_per_connection,
    );
    let _enlisted = worker.roster.enlist(&client);
    let Some(accepted) = prepare(&worker, accepted, &client).await else {
        return;
    };
    let (peer, listener) = (accepted.peer, accepted.listener);
    let Some(spoken) = settings.listen.get(listener) else {
        return;
    };
    if !spoken.callers.admit(peer) {
        return worker.books.turned_away(spoken.door, peer);
    }
    let door = spoken.door;
    let Some(_seat) = seat(&worker, peer, door) else {
        return;
    };
    let listeners = worker.common.tls.current();
    if let Door::Redis | Door::Spoe = door {
        // Boxed, so that the future of a connection of HTTP stays small.
        let serving = raw::serve(worker.clone(), accepted, listeners.at(listener), &client);
        return Box::pin(serving).await;
    }
    let opened = match listeners.at(listener) {
        Some(tls) => open_tls(&worker, accepted, tls, &client).await,
        None => open_plain(&worker, accepted, &client).await,
    };
    let Some(Opened {
        stream,
        early,
        protocol,
        tls,
    }) = opened
    else {
        return;
    };
    let Ok(address) = HeaderValue::try_from(peer.to_string()) else {
        return;
    };
    let session = Rc::new(Session {
        door,
        peer,
        origin: Origin {
            peer: address,
            scheme: if tls.is_some() { "https" } else { "http" },
        },
        tls,
        listener,
        guard: listeners.guard().then_some(listeners),
        client: client.clone(),
        worker,
    });
    let io = ClientIo::new(stream, early, protocol, client).gathering(door != Door::Gateway);
    match protocol {
        Protocol::Http1 => serve_http1(session, io).await,
        Protocol::Http2 => serve_http2(session, io).await,
    }
}

/// What comes before TLS and HTTP: whatever tells who really opened the connection may replace the peer, and leave in `early` what it
/// read too far. None: there is nobody to serve.
async fn prepare<S: Store>(worker: &Worker<S>, mut accepted: Accepted, client: &Client) -> Option<Accepted> {
    let listener = worker.settings.listen.get(accepted.listener);
    let Some(version) = listener.and_then(|listener| listener.proxy_protocol) else {
        return Some(accepted);
    };
    if !worker.live().config.gateway.trust.names(accepted.peer) {
        return None;
    }
    loop {
        match proxy_header::parse(&accepted.early, version) {
            Outcome::Bad => return None,
            Outcome::Unfinished => {
                accepted.early.reserve(FIRST_BYTES);
                if !more(worker, &mut accepted.tcp, &mut accepted.early, client).await {
                    return None;
                }
            }
            Outcome::Header { source, length } => {
                let _header = accepted.early.split_to(length);
                if let Source::Client(address) = source {
                    accepted.peer = address;
                }
                return Some(accepted);
            }
        }
    }
}

/// A place among the connections of its address; proxies that are believed speak for many clients, and need none.
fn seat<S>(worker: &Worker<S>, peer: IpAddr, door: Door) -> Option<Option<Seat>> {
    if door != Door::Gateway || worker.live().trusts(peer) {
        return Some(None);
    }
    worker.common.crowd.seat(peer).map(Some)
}

/// A connection whose bytes are HTTP.
struct Opened {
    stream: Stream,
    early: Bytes,
    protocol: Protocol,
    tls: Option<Rc<Tls>>,
}

/// Reads until the protocol is clear. None: the client left, or said too little for too long or until the stop.
async fn open_plain<S>(worker: &Worker<S>, accepted: Accepted, client: &Client) -> Option<Opened> {
    let mut early = accepted.early;
    let mut stream = Stream::Plain(accepted.tcp);
    let protocol = sniff(worker, &mut stream, &mut early, client).await?;
    Some(Opened {
        stream,
        early: early.freeze(),
        protocol,
        tls: None,
    })
}

/// The same over TLS, where ALPN says which protocol is spoken.
async fn open_tls<S>(
    worker: &Worker<S>,
    accepted: Accepted,
    tls: &TlsListener,
    client: &Client,
) -> Option<Opened> {
    // Boxed, so that the future of a plain connection stays small.
    let securing = Box::pin(secure(worker, accepted.tcp, accepted.early, tls, client));
    let Secured { mut stream, facts } = securing.await?;
    let mut early = BytesMut::new();
    let protocol = if facts.alpn == Some("h2") {
        Protocol::Http2
    } else {
        sniff(worker, &mut stream, &mut early, client).await?
    };
    if protocol == Protocol::Http2 && facts.alpn != Some("h2") {
        refuse(stream, "HTTP/2 over TLS is agreed on by ALPN.", client).await;
        return None;
    }
    Some(Opened {
        stream,
        early: early.freeze(),
        protocol,
        tls: Some(Rc::new(facts)),
    })
}

async fn sniff<S>(
    worker: &Worker<S>,
    stream: &mut Stream,
    early: &mut BytesMut,
    client: &Client,
) -> Option<Protocol> {
    early.reserve(FIRST_BYTES);
    // As long as these may be the beginning of it, or are nothing at all.
    while early.len() < PREFACE.len() && PREFACE.starts_with(early) {
        if !more(worker, stream, early, client).await {
            return None;
        }
    }
    if early.starts_with(PREFACE) {
        Some(Protocol::Http2)
    } else {
        Some(Protocol::Http1)
    }
}

/// Why a connection's protocol ended.
enum End {
    /// Both sides are done, or one broke off.
    Done,
    /// It took too long over something.
    Overdue,
}

async fn serve_http1<S: Store>(session: Rc<Session<S>>, io: ClientIo) {
    let Session { worker, client, .. } = &*session;
    let service = service_fn(|request| {
        let answering = session.clone().answer(request);
        async {
            let mut answer = answering.await?;
            if worker.leaving() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                answer
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let mut connection = worker.http1.serve_connection(io, service);
    let mut stopping = false;
    let end = poll_fn(|cx| {
        if !stopping && (worker.stopping() || client.retires(cx)) {
            stopping = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        if let Poll::Ready(outcome) = Pin::new(&mut connection).poll(cx) {
            // hyper has answered what it could not read, and nobody else has heard of it.
            if let Err(error) = outcome
                && error.is_parse()
            {
                Record::unread(&worker.books, session.peer, told(&error));
            }
            return Poll::Ready(End::Done);
        }
        client.deadline.poll(cx).map(|()| End::Overdue)
    })
    .await;
    let parts = connection.into_parts();
    let mut stream = parts.io.into_stream();
    let tunnel = client.tunnel.take();
    if let Some(tunnel) = tunnel {
        let idle = worker.settings.timeouts.tunnel;
        return tunnel
            .run(stream, parts.read_buf, client.deadline.clone(), idle)
            .await;
    }
    match end {
        End::Done => close(stream, client).await,
        End::Overdue if client.phase() == Phase::Head => {
            Record::unread(&worker.books, session.peer, StatusCode::REQUEST_TIMEOUT);
            // Best effort: a client that is too slow with its head may not read either.
            stream
                .write_now(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            if !client.is_let_go() {
                close(stream, client).await;
            }
        }
        End::Overdue if client.is_idle() => stream.part(),
        End::Overdue => {}
    }
}

/// The status of hyper's own answer to a head that it could not read.
fn told(error: &hyper::Error) -> StatusCode {
    if error.is_parse_too_large() {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    } else {
        StatusCode::BAD_REQUEST
    }
}

async fn serve_http2<S: Store>(session: Rc<Session<S>>, io: ClientIo) {
    let Session { worker, client, .. } = &*session;
    client.settle();
    let owed = Owed::new(&worker.deadlines, worker.settings.timeouts.body);
    let service = service_fn(|request| {
        let (session, owed, promise) = (session.clone(), owed.clone(), client.promise());
        async move {
            // Boxed where it is polled: until then hyper moves what is returned here from place to place.
            let response = Box::pin(session.answer(request)).await?;
            promise.keep();
            Ok::<_, Infallible>(response.map(|body| owed.body(body)))
        }
    });
    let builder = match session.door {
        Door::Gateway => &worker.http2,
        _ => &worker.http2_at_doors,
    };
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut leaving = false;
    poll_fn(|cx| {
        if session.door == Door::Gateway && client.is_a_nuisance() {
            return Poll::Ready(());
        }
        client.has_its_turn();
        if !leaving && (worker.leaving() || client.retires(cx)) {
            leaving = true;
            connection.as_mut().graceful_shutdown();
            if client.is_idle() {
                client.deadline.set(LINGER);
            }
        }
        if turn(connection.as_mut(), &session, cx).is_ready() {
            return Poll::Ready(());
        }
        owed.poll(cx);
        if client.deadline.poll(cx).is_pending() {
            return Poll::Pending;
        }
        if leaving {
            return Poll::Ready(());
        }
        // An idle client is told, and then has a moment to agree.
        leaving = true;
        connection.as_mut().graceful_shutdown();
        client.deadline.set(LINGER);
        if turn(connection.as_mut(), &session, cx).is_ready() || client.is_let_go() {
            return Poll::Ready(());
        }
        client.deadline.poll(cx)
    })
    .await;
}

/// The turn of an HTTP/2 `connection`: it is read from, what it asks at a door is answered, and the answers are sent.
fn turn<S, C: Future>(mut connection: Pin<&mut C>, session: &Session<S>, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let done = connection.as_mut().poll(cx).is_ready();
        let asked = session.worker.asked.answer();
        if done {
            return Poll::Ready(());
        }
        if !asked {
            return Poll::Pending;
        }
        // Once more, which only sends.
        session.client.is_answered();
    }
}

/// Closes so that the last response arrives: a socket closed with unread bytes is reset, and a reset overtakes what was sent.
pub(super) async fn close(mut stream: Stream, client: &Client) {
    if client.reset.get() {
        return stream.reset();
    }
    client.deadline.set(LINGER);
    // TLS first sends what it holds back, and a client that does not read would have it wait.
    let mut shutdown = pin!(stream.shutdown());
    let shut = poll_fn(|cx| match shutdown.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome.is_ok()),
        Poll::Pending => client.deadline.poll(cx).map(|()| false),
    });
    if !shut.await {
        return;
    }
    let mut left = LINGER_BYTES;
    let mut scrap = BytesMut::with_capacity(4 * 1024);
    while left > 0 {
        scrap.clear();
        let mut read = pin!(stream.read_buf(&mut scrap));
        let count = poll_fn(|cx| match read.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome.unwrap_or(0)),
            Poll::Pending => client.deadline.poll(cx).map(|()| 0),
        })
        .await;
        if count == 0 {
            return;
        }
        left = left.saturating_sub(count);
    }
}
