//! A connection on which something else than HTTP is spoken.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::BytesMut;
use tidegate_policy::Door;
use tidegate_store::Store;
use tokio::io::AsyncWrite;

use super::client::{Client, InFlight};
use super::connection::{Accepted, close};
use super::secure::{Secured, more, secure};
use super::settings::Listener;
use super::stream::Stream;
use super::worker::Worker;
use crate::doors::{redis, spoe};
use crate::tls::TlsListener;

/// A connection whose bytes a door reads and writes by itself.
///
/// It may rest for as long as it likes, since its clients keep theirs in pools; who rests longest makes room when places are wanted.
/// What has begun to come has to be there in the time that a request's head has.
pub(crate) struct Raw<S> {
    pub(crate) worker: Rc<Worker<S>>,
    client: Rc<Client>,
    stream: Stream,
}

/// Serves a connection that came to `listener`, which is neither the gateway's nor one of HTTP.
pub(super) async fn serve<S: Store>(
    worker: Rc<Worker<S>>,
    accepted: Accepted,
    tls: Option<&TlsListener>,
    client: &Rc<Client>,
) {
    let (place, peer) = (accepted.listener, accepted.peer);
    let mut early = BytesMut::new();
    let stream = match tls {
        Some(tls) => {
            let secured = secure(&worker, accepted.tcp, accepted.early, tls, client).await;
            let Some(Secured { stream, .. }) = secured else {
                return;
            };
            stream
        }
        None => {
            early = accepted.early;
            Stream::Plain(accepted.tcp)
        }
    };
    let raw = Raw {
        stream,
        client: client.clone(),
        worker: worker.clone(),
    };
    raw.client.rest();
    match worker.settings.listen.get(place) {
        Some(
            listener @ Listener {
                door: Door::Redis, ..
            },
        ) => redis::serve(raw, early, listener).await,
        Some(Listener { door: Door::Spoe, .. }) => spoe::serve(raw, early, peer).await,
        _ => {}
    }
}

impl<S> Raw<S> {
    /// Reads more into `inbox`. False: there is nobody any more, what began to come took too long, or this side has to end.
    pub(crate) async fn read(&mut self, inbox: &mut BytesMut) -> bool {
        if inbox.is_empty() {
            self.client.rest();
        } else {
            self.client.owes_the_rest();
        }
        inbox.reserve(READ_BYTES);
        more(&self.worker, &mut self.stream, inbox, &self.client).await
    }

    /// Something is being done for it, until the guard is dropped.
    pub(crate) fn begin(&self) -> InFlight {
        self.client.begin()
    }

    /// Whether it should end as soon as it has its answers.
    pub(crate) fn should_end(&self) -> bool {
        self.worker.leaving()
    }

    /// Sends all of `bytes`. False: there is nobody any more, or they do not read.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        let (stream, client, timeouts) = (&mut self.stream, &self.client, &self.worker.settings.timeouts);
        let mut left = bytes;
        let mut waits = false;
        poll_fn(|cx| {
            loop {
                let sent = if left.is_empty() {
                    Pin::new(&mut *stream).poll_flush(cx).map_ok(|()| 0)
                } else {
                    Pin::new(&mut *stream).poll_write(cx, left)
                };
                match sent {
                    Poll::Ready(Ok(0)) => return Poll::Ready(left.is_empty()),
                    Poll::Ready(Ok(count)) => {
                        left = left.get(count..).unwrap_or_default();
                        waits = false;
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(false),
                    Poll::Pending => {
                        if !waits {
                            client.deadline.set(timeouts.body);
                            waits = true;
                        }
                        return client.deadline.poll(cx).map(|()| false);
                    }
                }
            }
        })
        .await
    }

    /// Ends it in order, so that the last answer arrives.
    pub(crate) async fn close(self) {
        close(self.stream, &self.client).await;
    }
}

/// What is read at once.
const READ_BYTES: usize = 16 * 1024;
