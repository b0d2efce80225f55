//! A new connection to a server.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tidegate_policy::ServerUrl;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::stream::{Stream, Wire};
use crate::upstream::Server;

/// A connection that was just opened.
pub(super) struct Dialled {
    pub(super) stream: Stream,
    /// Where it leads, if that is an address.
    pub(super) peer: Option<SocketAddr>,
    /// What [`Server::generation`] was before.
    pub(super) generation: u64,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    /// No address takes one, or the name has none.
    Unreachable(io::Error),
    /// TLS could not be agreed on.
    Tls(io::Error),
}

/// Opens a connection to `server`. `first` says which of its addresses is tried first, and the others follow.
pub(super) async fn dial(server: &Server, first: usize) -> Result<Dialled, DialError> {
    let generation = server.generation();
    if let ServerUrl::Unix(path) = &server.url {
        let stream = UnixStream::connect(&**path)
            .await
            .map_err(DialError::Unreachable)?;
        return Ok(Dialled {
            stream: Stream::Unix(stream),
            peer: None,
            generation,
        });
    }
    let addresses = server.addresses().await;
    let (tcp, peer) = connect_any(&addresses, first)
        .await
        .map_err(DialError::Unreachable)?;
    tcp.set_nodelay(true).map_err(DialError::Unreachable)?;
    let stream = if server.url.is_tls() {
        secure(server, tcp).await.map_err(DialError::Tls)?
    } else {
        Stream::Plain(tcp)
    };
    Ok(Dialled {
        stream,
        peer: Some(peer),
        generation,
    })
}

async fn secure(server: &Server, tcp: TcpStream) -> io::Result<Stream> {
    let unnamed = || io::Error::other("no certificate can have the name of this server");
    let (config, name) = server.tls().ok_or_else(unnamed)?;
    let tls = TlsConnector::from(config)
        .connect(name, Wire::new(tcp, Bytes::new()))
        .await?;
    Ok(Stream::Tls(Box::new(tls.into())))
}

/// How long one address may take before the next is tried beside it (RFC 8305, section 5).
const NEXT_AFTER: Duration = Duration::from_millis(250);

type Trying<'a> = Pin<Box<dyn Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send + 'a>>;

/// Connects to whichever of `addresses` answers first, one after the other from number `first` on.
async fn connect_any(addresses: &[SocketAddr], first: usize) -> io::Result<(TcpStream, SocketAddr)> {
    if let [only] = addresses {
        return Ok((TcpStream::connect(only).await?, *only));
    }
    let count = addresses.len();
    let mut left = (0..count).map(|step| addresses[(first % count + step) % count]);
    let mut tries: Vec<Trying<'_>> = Vec::new();
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "the name has no addresses");
    loop {
        let outcome = match left.next() {
            Some(address) => {
                tries.push(Box::pin(async move {
                    Ok((TcpStream::connect(address).await?, address))
                }));
                tokio::time::timeout(NEXT_AFTER, first_done(&mut tries))
                    .await
                    .ok()
            }
            None if tries.is_empty() => return Err(refused),
            None => Some(first_done(&mut tries).await),
        };
        match outcome {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => refused = error,
            None => {}
        }
    }
}

/// The outcome of whichever of `tries` is done first.
async fn first_done(tries: &mut Vec<Trying<'_>>) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|cx| {
        for index in 0..tries.len() {
            if let Poll::Ready(outcome) = tries[index].as_mut().poll(cx) {
                drop(tries.swap_remove(index));
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_address_that_refuses_leaves_the_next_one_its_turn_and_the_first_one_changes() {
        let listeners = [
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        ];
        let at = |index: usize| listeners[index].local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let addresses = [closed, at(0), at(1)];
        for (first, expected) in [(0, at(0)), (1, at(0)), (2, at(1)), (3, at(0))] {
            assert_eq!(connect_any(&addresses, first).await.unwrap().1, expected);
        }
        let refused = connect_any(&[closed, closed], 0).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let nowhere = connect_any(&[], 5).await.unwrap_err();
        assert_eq!(nowhere.kind(), io::ErrorKind::NotFound);
    }
}
