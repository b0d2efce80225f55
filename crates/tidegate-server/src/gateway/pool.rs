//! Connections to one server, one pool per worker.
//!
//! A connection has no task of its own: whoever uses it drives it, and dropping it closes it. That saves two wake-ups and a channel
//! hop per request over hyper-util's client, and a client that leaves takes its upstream request with it at once.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};

use super::body::RequestBody;
use super::deadline::Deadlines;
use super::dial::{DialError, Dialled, dial};
use super::fault::Fault;
use super::news::News;
use super::settings::Settings;
use super::socket::Socket;
use super::stream::Stream;
use crate::metrics::Tally;
use crate::upstream::Server;

/// What all pools of a worker share.
pub(crate) struct Shared {
    settings: Arc<Settings>,
    deadlines: Rc<Deadlines>,
    /// Open connections to all servers, and the most there may be.
    open: Rc<Cell<usize>>,
    most: usize,
    /// How many ticks a connection may rest and be taken for alive, and how many at all.
    brief: u64,
    longest: u64,
}

impl Shared {
    pub(crate) fn new(settings: Arc<Settings>, deadlines: Rc<Deadlines>) -> Rc<Self> {
        let most = settings
            .bounds
            .upstream_connections
            .div_ceil(settings.workers.get());
        Rc::new(Self {
            brief: deadlines.ticks(BRIEF),
            longest: deadlines.ticks(settings.timeouts.upstream_idle),
            settings,
            deadlines,
            open: Rc::default(),
            most,
        })
    }
}

/// A worker's connections to one server.
pub(crate) struct Pool {
    pub(crate) server: Arc<Server>,
    shared: Rc<Shared>,
    resting: RefCell<Vec<Resting>>,
    in_flight: Cell<u32>,
    tries: Arc<Tally>,
    /// Counts connections, so that each begins at another address.
    dialled: Cell<usize>,
}

struct Resting {
    link: Box<Link>,
    since: u64,
}

/// A connection that rested in the pool.
pub(crate) struct Rested {
    pub(crate) link: Box<Link>,
    /// It rested for long enough that the upstream may be closing it just now.
    pub(crate) doubtful: bool,
}

/// Connections that rested no longer than this are taken for alive.
const BRIEF: Duration = Duration::from_millis(250);

/// The longest head of a response.
const RESPONSE_HEADER_BYTES: usize = 64 * 1024;

/// What one connection may have read before its client takes it. hyper's own bound is 400 KiB, for each of a client's many streams.
const READ_AHEAD_BYTES: usize = 2 * RESPONSE_HEADER_BYTES;

impl Pool {
    pub(crate) fn new(server: &Arc<Server>, shared: &Rc<Shared>) -> Rc<Self> {
        Rc::new(Self {
            tries: server.tally(),
            server: server.clone(),
            shared: shared.clone(),
            resting: RefCell::default(),
            in_flight: Cell::new(0),
            dialled: Cell::new(0),
        })
    }

    /// How many requests the server has from this worker.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// It has one more.
    pub(crate) fn begin(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
        self.tries.one();
    }

    /// It has one less.
    pub(crate) fn end(&self) {
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
    }

    /// A connection that rests.
    pub(crate) fn rested(&self) -> Option<Rested> {
        loop {
            let Resting { mut link, since } = self.resting.borrow_mut().pop()?;
            if link.is_still_alive() {
                let rested = self.shared.deadlines.now().saturating_sub(since);
                return Some(Rested {
                    link,
                    doubtful: rested > self.shared.brief,
                });
            }
        }
    }

    /// A new connection, opened within `time`.
    pub(crate) async fn connect(&self, time: Duration) -> Result<Box<Link>, Fault> {
        if self.shared.open.get() >= self.shared.most {
            return Err(Fault::Busy);
        }
        let place = Place::taken(&self.shared.open);
        let turn = self.dialled.get();
        self.dialled.set(turn.wrapping_add(1));
        let Dialled {
            stream,
            peer,
            generation,
        } = tokio::time::timeout(time, dial(&self.server, turn))
            .await
            .map_err(|_| Fault::ConnectTimeout)?
            .map_err(|error| self.not_dialled(&error))?;
        let (sender, driver) = Builder::new()
            .max_header_size(RESPONSE_HEADER_BYTES)
            .max_buf_size(READ_AHEAD_BYTES)
            .handshake(Socket::new(stream))
            .await
            .map_err(|_| Fault::Unreachable)?;
        let news = Arc::<News>::default();
        Ok(Box::new(Link {
            sender,
            driver,
            ended: false,
            waker: Waker::from(news.clone()),
            news,
            peer,
            generation,
            _place: place,
        }))
    }

    fn not_dialled(&self, error: &DialError) -> Fault {
        let server = self.server.label();
        match error {
            DialError::Unreachable(error) => {
                tracing::debug!(server, %error, "no connection");
                Fault::Unreachable
            }
            DialError::Tls(error) => {
                tracing::debug!(server, %error, "no TLS");
                Fault::Tls
            }
        }
    }

    /// Takes back a connection whose last response is through.
    pub(crate) fn rest(&self, mut link: Box<Link>) {
        let most = self.shared.settings.bounds.upstream_idle;
        if !link.is_alive() || self.resting.borrow().len() >= most || !link.leads_to(&self.server) {
            return;
        }
        let since = self.shared.deadlines.now();
        self.resting.borrow_mut().push(Resting { link, since });
    }

    /// Closes what has rested for too long, or at an address that is not the server's any more.
    pub(crate) fn expire(&self) {
        let now = self.shared.deadlines.now();
        // The last one in is the first one out, so the oldest are in front.
        let mut resting = self.resting.borrow_mut();
        let longest = self.shared.longest;
        let old = resting.partition_point(|resting| now.saturating_sub(resting.since) > longest);
        resting.drain(..old);
        resting.retain_mut(|resting| resting.link.leads_to(&self.server));
    }

    /// Closes everything that rests.
    pub(crate) fn clear(&self) {
        self.resting.borrow_mut().clear();
    }
}

/// One of the places for open connections.
struct Place(Rc<Cell<usize>>);

impl Place {
    fn taken(open: &Rc<Cell<usize>>) -> Self {
        open.set(open.get() + 1);
        Self(open.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// A connection to the upstream, driven by its user.
pub(crate) struct Link {
    pub(super) sender: SendRequest<RequestBody>,
    driver: Connection<Socket, RequestBody>,
    ended: bool,
    news: Arc<News>,
    /// Wakes `news`.
    waker: Waker,
    /// Where it leads, if that is an address, and what the server's generation was when that was last looked at.
    peer: Option<SocketAddr>,
    generation: u64,
    _place: Place,
}

impl Link {
    /// Moves bytes. Ready when the connection carries no more HTTP; else the task is woken once, unless [`Link::silence`] comes
    /// first.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.news.listen(cx.waker());
        self.drive()
    }

    /// The task wakes by itself or polls again before it waits: nothing that happens until then needs to wake it.
    pub(crate) fn silence(&self) {
        self.news.silence();
    }

    fn drive(&mut self) -> Poll<()> {
        if !self.ended {
            let mut cx = Context::from_waker(&self.waker);
            self.ended = self.driver.poll_without_shutdown(&mut cx).is_ready();
        }
        if self.ended {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Whether it still leads to `server`, whose name may have moved on.
    fn leads_to(&mut self, server: &Server) -> bool {
        let generation = server.generation();
        if self.generation == generation {
            return true;
        }
        self.generation = generation;
        self.peer.is_none_or(|peer| server.is_at(peer))
    }

    /// Whether it can carry a request, as far as is known without asking the kernel.
    fn is_alive(&mut self) -> bool {
        self.news.silence();
        self.news.forget();
        self.drive().is_pending() && self.sender.is_ready()
    }

    /// The same of a connection that was alive when its rest began. A look costs a round through all of hyper, so there is none
    /// if nothing has happened.
    fn is_still_alive(&mut self) -> bool {
        !self.news.have_arrived() || self.is_alive()
    }

    /// The socket, after a switch of protocols, and the first bytes of the new one.
    pub(crate) fn into_stream(self) -> (Stream, Bytes) {
        let parts = self.driver.into_parts();
        (parts.io.into_stream(), parts.read_buf)
    }
}
