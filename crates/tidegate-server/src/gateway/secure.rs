//! From a TCP connection that was just accepted to one whose bytes are HTTP.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::BytesMut;
use tidegate_policy::Tls;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::client::Client;
use super::connection::close;
use super::stream::{Stream, Wire};
use super::worker::Worker;
use crate::tls::{TlsListener, facts};

/// A connection on which TLS is spoken, and what is known of it.
pub(super) struct Secured {
    pub(super) stream: Stream,
    pub(super) facts: Tls,
}

/// Room for the first bytes: most requests' heads, or a client's hello.
pub(super) const FIRST_BYTES: usize = 2 * 1024;

/// Reads more of `stream` into `early`. False: the client left, or said nothing for too long or until the stop.
pub(super) async fn more<S>(
    worker: &Worker<S>,
    stream: &mut (impl AsyncRead + Unpin),
    early: &mut BytesMut,
    client: &Client,
) -> bool {
    let mut read = pin!(stream.read_buf(early));
    poll_fn(|cx| match read.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome.is_ok_and(|count| count > 0)),
        Poll::Pending if worker.stopping() => Poll::Ready(false),
        Poll::Pending => client.deadline.poll(cx).map(|()| false),
    })
    .await
}

/// Shakes hands. None: the client left, took too long, or cannot agree, and was told so by an alert.
///
/// The time is part of that for the head of the first request. There is no bound on handshakes but that on connections: places for them
/// could be held by clients who begin and go no further, and those who rest longest make room for others anyway.
pub(super) async fn secure<S>(
    worker: &Worker<S>,
    mut tcp: TcpStream,
    mut early: BytesMut,
    tls: &TlsListener,
    client: &Client,
) -> Option<Secured> {
    if early.is_empty() && !more(worker, &mut tcp, &mut early, client).await {
        return None;
    }
    // TLS begins with a byte that is no letter; every method of HTTP does with a capital.
    if early.first().is_some_and(u8::is_ascii_uppercase) {
        let why = "This port speaks TLS: ask for https:// instead of http://.";
        refuse(Stream::Plain(tcp), why, client).await;
        return None;
    }
    let acceptor = TlsAcceptor::from(tls.config.clone());
    let mut accepting = acceptor.accept(Wire::new(tcp, early.freeze())).into_fallible();
    let outcome = poll_fn(|cx| match Pin::new(&mut accepting).poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if worker.stopping() => Poll::Ready(None),
        Poll::Pending => client.deadline.poll(cx).map(|()| None),
    })
    .await?;
    match outcome {
        Ok(stream) => Some(Secured {
            facts: facts(stream.get_ref().1),
            stream: Stream::Tls(Box::new(stream.into())),
        }),
        Err((_, wire)) => {
            // The alert is out; a reset must not overtake it.
            close(Stream::Plain(wire.into_tcp()), client).await;
            None
        }
    }
}

/// Answers 400 to whatever was said, and closes.
pub(super) async fn refuse(mut stream: Stream, why: &str, client: &Client) {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {length}\r\n\r\n{why}\n"
    );
    stream.write_now(answer.as_bytes());
    close(stream, client).await;
}
