//! One thread of the gateway: its runtime, its listeners, its connections, its pool.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use hyper::server::conn::{http1, http2};
use socket2::SockRef;
use tidegate_core::HoldId;
use tidegate_policy::{Door, TokenCache};
use tidegate_store::Store;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::Farewell;
use super::connection::{self, Accepted};
use super::crowd::Crowd;
use super::deadline::Deadlines;
use super::listen::{BACKLOG, Ear};
use super::pool::Shared;
use super::pressure::Pressure;
use super::roster::Roster;
use super::settings::Settings;
use super::streams::{Asked, Streams};
use super::upstreams::Upstreams;
use super::warden;
use crate::live::{Live, Seen, View};
use crate::pipeline::Pipeline;
use crate::record::Books;
use crate::tls::TlsSwitch;

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Common<S> {
    settings: Arc<Settings>,
    pub(crate) pipeline: Arc<Pipeline<S>>,
    pub(crate) tls: TlsSwitch,
    pub(crate) crowd: Arc<Crowd>,
}

impl<S> Common<S> {
    pub(crate) fn new(settings: Settings, pipeline: Pipeline<S>) -> Self {
        let listeners = settings.listen.iter();
        Self {
            tls: TlsSwitch::new(listeners.map(|listener| (listener.address, listener.tls.clone()))),
            crowd: Arc::new(Crowd::new(settings.bounds.connections_per_address)),
            settings: Arc::new(settings),
            pipeline: Arc::new(pipeline),
        }
    }
}

impl<S: Store> Common<S> {
    /// Looks after the upstreams for as long as the future is polled.
    pub(crate) fn watch_upstreams(&self) -> impl Future<Output = Infallible> + use<S> {
        warden::watch(self.pipeline.stage().clone(), self.settings.names.clone())
    }
}

/// What everything on one thread shares.
pub(crate) struct Worker<S> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) pipeline: Arc<Pipeline<S>>,
    pub(crate) deadlines: Rc<Deadlines>,
    /// Where its requests are counted and written down.
    pub(crate) books: Rc<Books>,
    index: usize,
    shared: Rc<Shared>,
    upstreams: RefCell<Rc<Upstreams>>,
    pub(crate) http1: http1::Builder,
    pub(crate) http2: http2::Builder<Streams>,
    /// The same at doors.
    pub(crate) http2_at_doors: http2::Builder<Streams>,
    /// What the connection that has its turn there asks.
    pub(crate) asked: Rc<Asked>,
    pub(crate) common: Arc<Common<S>>,
    view: View,
    /// What it knows of tokens that came before.
    pub(crate) tokens: RefCell<TokenCache>,
    holds: Cell<u64>,
    leaving: Cell<bool>,
    stopping: Cell<bool>,
    connections: Cell<usize>,
    pub(crate) roster: Rc<Roster>,
    /// How it keeps up. Looked at where there are doors beside the gateway.
    pub(crate) pressure: Pressure,
    changed: tokio::sync::Notify,
}

/// Runs a worker on this thread until a stop was asked for and the last connection has ended or was cut. Returns how many were
/// cut.
pub(crate) fn run<S: Store>(
    index: usize,
    common: Arc<Common<S>>,
    listeners: Vec<Ear>,
    stop: watch::Receiver<Option<Farewell>>,
) -> io::Result<usize> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let worker = Rc::new(Worker::new(index, common));
        worker.serve(listeners, stop).await
    })
}

impl<S> Worker<S> {
    /// Whether connections should end with their next answer.
    pub(crate) fn leaving(&self) -> bool {
        self.leaving.get()
    }

    /// Whether connections should end as soon as they owe nothing.
    pub(crate) fn stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Waits until connections should end with their next answer.
    pub(crate) async fn leaves(&self) {
        // Never due, but whoever waits for it is woken when the worker leaves.
        let news = self.deadlines.deadline();
        poll_fn(|cx| match news.poll(cx) {
            Poll::Pending if !self.leaving() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// What is live now.
    pub(crate) fn live(&self) -> Seen {
        self.view.now()
    }

    /// The upstreams of `live`.
    pub(crate) fn upstreams(&self, live: &Live) -> Rc<Upstreams> {
        let mut upstreams = self.upstreams.borrow_mut();
        if !upstreams.is_of(&live.fleet) {
            *upstreams = Upstreams::new(&live.fleet, Some(&upstreams), &self.shared, self.index);
        }
        upstreams.clone()
    }
}

impl<S: Store> Worker<S> {
    fn new(index: usize, common: Arc<Common<S>>) -> Self {
        let (settings, pipeline) = (common.settings.clone(), common.pipeline.clone());
        let deadlines = Deadlines::new(Deadlines::tick_for(settings.timeouts.shortest()));
        let shared = Shared::new(settings.clone(), deadlines.clone());
        let view = pipeline.view();
        let upstreams = Upstreams::new(&view.now().fleet, None, &shared, index);
        let asked = Rc::default();
        Self {
            books: books(index, &settings, &pipeline),
            index,
            shared,
            upstreams: RefCell::new(upstreams),
            http1: http1_builder(&settings),
            http2: http2_builder(&settings, Streams::InTurn),
            http2_at_doors: http2_builder_of_doors(&settings, &asked),
            asked,
            settings,
            common,
            view,
            tokens: RefCell::default(),
            pipeline,
            deadlines,
            holds: Cell::new(first_hold(index)),
            leaving: Cell::new(false),
            stopping: Cell::new(false),
            connections: Cell::new(0),
            roster: Rc::default(),
            pressure: Pressure::default(),
            changed: tokio::sync::Notify::new(),
        }
    }

    /// A name for the slots of one request.
    pub(crate) fn next_hold(&self) -> HoldId {
        let hold = self.holds.get();
        self.holds.set(hold.wrapping_add(1));
        HoldId(hold)
    }

    async fn serve(
        self: &Rc<Self>,
        listeners: Vec<Ear>,
        mut stop: watch::Receiver<Option<Farewell>>,
    ) -> io::Result<usize> {
        let mut accepting = tokio::task::JoinSet::new();
        let mut ears = Vec::new();
        for Ear { place, socket } in listeners {
            let listener = Rc::new(TcpListener::from_std(socket)?);
            accepting.spawn_local(self.clone().accept(place, listener.clone()));
            ears.push((place, listener));
        }
        let mut ticking = spawn_local(self.clone().tick());
        let timing = self.has_doors().then(|| {
            let worker = self.clone();
            spawn_local(async move { worker.pressure.watch(|| worker.books.now()).await })
        });
        let farewell = tokio::select! {
            // An error means that whoever could ask for a stop is gone, which asks for one.
            asked = stop.wait_for(Option::is_some) => asked.ok().and_then(|asked| *asked),
            _ = accepting.join_next() => return Err(io::Error::other("accepting connections ended by itself")),
            _ = &mut ticking => return Err(io::Error::other("measuring time ended by itself")),
        };
        accepting.shutdown().await;
        for (place, listener) in ears {
            self.last_call(place, &listener);
        }
        let cut = self.drain(farewell.unwrap_or(Farewell::AtOnce)).await;
        ticking.abort();
        if let Some(timing) = timing {
            timing.abort();
        }
        Ok(cut)
    }

    /// Whether anything is spoken beside the gateway.
    fn has_doors(&self) -> bool {
        let mut listeners = self.settings.listen.iter();
        listeners.any(|listener| listener.door != Door::Gateway)
    }

    /// Lets requests in flight finish, for as long as the settings say.
    async fn drain(&self, farewell: Farewell) -> usize {
        let _ = timeout(self.settings.timeouts.drain, self.leave(farewell)).await;
        self.connections.get()
    }

    async fn leave(&self, farewell: Farewell) {
        self.leaving.set(true);
        if let Farewell::Kindly(moment) = farewell {
            self.deadlines.wake_all();
            let _ = timeout(moment, self.empty()).await;
        }
        self.stopping.set(true);
        self.deadlines.wake_all();
        self.upstreams.borrow().clear();
        self.empty().await;
    }

    /// Waits for the last connection to end.
    async fn empty(&self) {
        while self.connections.get() > 0 {
            self.changed.notified().await;
        }
    }

    async fn tick(self: Rc<Self>) {
        let mut interval = tokio::time::interval(self.deadlines.tick());
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
        loop {
            interval.tick().await;
            self.deadlines.advance();
            // Also where no requests come: what a reload took away is let go.
            self.upstreams(&self.live()).expire();
            self.books.tick();
        }
    }

    /// Takes connections of `listener`, which is the settings' number `place`.
    async fn accept(self: Rc<Self>, place: usize, listener: Rc<TcpListener>) {
        loop {
            match listener.accept().await {
                Ok((tcp, peer)) => {
                    while self.is_full() {
                        self.roster.make_room();
                        // Or until somebody rests.
                        let _ = timeout(ROOM_PAUSE, self.changed.notified()).await;
                    }
                    self.open(place, tcp, peer.ip());
                }
                Err(error) if is_of_one_connection(&error) => {}
                // Out of file descriptors or memory: both come back when connections end.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Takes who waits in the kernel's queue before the listener closes, which would reset them: to them, their connection is open.
    fn last_call(self: &Rc<Self>, place: usize, listener: &TcpListener) {
        // Asked without tokio, which may not have heard of the last ones yet.
        let queue = SockRef::from(listener);
        for _ in 0..BACKLOG {
            if self.is_full() {
                return;
            }
            match queue.accept() {
                Ok((socket, peer)) => {
                    let tcp = socket
                        .set_nonblocking(true)
                        .and_then(|()| TcpStream::from_std(socket.into()));
                    if let (Ok(tcp), Some(peer)) = (tcp, peer.as_socket()) {
                        self.open(place, tcp, peer.ip());
                    }
                }
                Err(error) if is_of_one_connection(&error) => {}
                // There is nobody left.
                Err(_) => return,
            }
        }
    }

    /// Whether it has as many connections as it may.
    fn is_full(&self) -> bool {
        let Settings { bounds, workers, .. } = &*self.settings;
        self.connections.get() >= bounds.connections.div_ceil(workers.get())
    }

    /// Serves a connection that `peer` opened to the settings' listener number `place`.
    fn open(self: &Rc<Self>, place: usize, tcp: TcpStream, peer: IpAddr) {
        // A socket that refuses this is broken; its first read says so.
        let _ = tcp.set_nodelay(true);
        let open = Open::counted(self);
        let worker = self.clone();
        let accepted = Accepted {
            tcp,
            early: BytesMut::new(),
            peer: peer.to_canonical(),
            listener: place,
        };
        spawn_local(async move {
            connection::serve(worker, accepted).await;
            drop(open);
        });
    }
}

fn books<S: Store>(index: usize, settings: &Settings, pipeline: &Pipeline<S>) -> Rc<Books> {
    Rc::new(Books::new(
        index,
        pipeline.stage().metrics().clone(),
        pipeline.clock().clone(),
        settings.access_log.clone(),
    ))
}

/// Where a worker's names of slots begin: every worker of every process somewhere else, so that they do not meet in a store.
fn first_hold(index: usize) -> u64 {
    RandomState::new().hash_one(index)
}

/// How often somebody is looked for who can make room.
const ROOM_PAUSE: Duration = Duration::from_millis(50);

/// How long accepting rests when the system is out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// A connection that counts.
struct Open<S>(Rc<Worker<S>>);

impl<S> Open<S> {
    fn counted(worker: &Rc<Worker<S>>) -> Self {
        worker.connections.set(worker.connections.get() + 1);
        let counts = worker.books.counts();
        counts.connections.one();
        counts.connections_opened.one();
        Self(worker.clone())
    }
}

impl<S> Drop for Open<S> {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get().saturating_sub(1));
        self.0.books.counts().connections.one_less();
        self.0.changed.notify_waiters();
    }
}

fn http1_builder(settings: &Settings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Waits are measured by the worker's deadlines; a header count is not set here because hyper then allocates per request.
    builder
        .max_header_size(settings.bounds.header_bytes)
        .max_buf_size(settings.bounds.header_bytes.max(64 * 1024))
        .header_read_timeout(None);
    builder
}

fn http2_builder(settings: &Settings, streams: Streams) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams);
    let header_bytes = u32::try_from(settings.bounds.header_bytes).unwrap_or(u32::MAX);
    builder
        .max_concurrent_streams(settings.bounds.streams)
        .max_header_list_size(header_bytes)
        .max_frame_size(H2_FRAME)
        .max_pending_accept_reset_streams(H2_PENDING_RESETS)
        .max_local_error_reset_streams(H2_ERRORS)
        .initial_stream_window_size(H2_STREAM_WINDOW)
        .initial_connection_window_size(H2_CONNECTION_WINDOW)
        .max_send_buf_size(H2_SEND_BUFFER);
    builder
}

/// The same for doors. Who may ask there is believed, and gives up what is not answered in time.
fn http2_builder_of_doors(settings: &Settings, asked: &Rc<Asked>) -> http2::Builder<Streams> {
    let mut builder = http2_builder(settings, Streams::AtOnce(asked.clone()));
    builder.max_pending_accept_reset_streams(H2_PENDING_RESETS_AT_DOORS);
    builder
}

/// The longest frame. With the bound on a head it also bounds how many CONTINUATION frames a head may come in.
const H2_FRAME: u32 = 16 * 1024;
/// Streams that a client may have reset before they were looked at.
const H2_PENDING_RESETS: usize = 20;
/// The same at doors: those are questions that nobody waits for any more, and dropping them costs least of all that can be done.
const H2_PENDING_RESETS_AT_DOORS: usize = 1024;
/// Streams that may have been reset because of the client's errors.
const H2_ERRORS: usize = 1024;
/// What one stream, and all streams of a connection, may have sent without being read.
const H2_STREAM_WINDOW: u32 = 256 * 1024;
const H2_CONNECTION_WINDOW: u32 = 1024 * 1024;
/// What one stream may hold back when its client does not read.
const H2_SEND_BUFFER: usize = 64 * 1024;
