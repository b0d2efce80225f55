//! The gateway: a streaming reverse proxy that asks the pipeline about every request.
//!
//! Each worker is one thread with its own listener (`SO_REUSEPORT`), its own connections and its own pool to the upstream, so
//! that a request never changes threads and shares nothing but the store.

mod balance;
mod body;
mod budget;
mod client;
mod connection;
mod crowd;
mod deadline;
mod dial;
mod fault;
mod fields;
mod forward;
mod framing;
mod health;
mod listen;
mod news;
mod pool;
mod pressure;
mod proxy_header;
mod raw;
mod request_id;
mod roster;
mod secure;
mod session;
mod settings;
mod socket;
mod stream;
mod streams;
mod upgrade;
mod upstreams;
mod warden;
mod worker;

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tidegate_store::Store;
use tokio::sync::{oneshot, watch};

pub(crate) use body::{Early, Progress, Reader, ResponseBody};
pub(crate) use client::InFlight;
pub(crate) use fault::Fault;
pub(crate) use listen::{listen, refuse_shared};
pub(crate) use raw::Raw;
pub(crate) use session::Session;
pub use settings::{Bounds, Listener, Settings, Timeouts};
pub(crate) use worker::Worker;

use crate::pipeline::Pipeline;
use crate::sockets::Given;
use crate::tls::TlsSwitch;
use listen::{Ear, listen_all};
use worker::Common;

/// A gateway that listens, and serves once it is run.
#[derive(Debug)]
pub struct Gateway<S> {
    common: Arc<Common<S>>,
    local_addrs: Vec<SocketAddr>,
    /// For each worker, where it takes connections from.
    listeners: Vec<Vec<Ear>>,
}

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why not.
    pub error: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: {}", self.address, self.error)
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// How a gateway ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Client connections that were cut because the time to drain was over.
    pub cut: usize,
}

/// How a gateway that stops treats connections on which nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// They are closed.
    AtOnce,
    /// They may ask once more within this time and are told with the answer that they close. So no request meets a connection that was
    /// closed meanwhile, as long as clients ask that often.
    Kindly(Duration),
}

impl<S: Store> Gateway<S> {
    /// Listens as `settings` say. Connections wait until [`Gateway::run`].
    ///
    /// # Errors
    /// An address that cannot be listened on, for instance because another process does.
    pub fn bind(settings: Settings, pipeline: Pipeline<S>) -> Result<Self, BindError> {
        Self::bind_given(settings, pipeline, &mut Given::default())
    }

    /// The same, with the sockets that the process was `given` where they listen as `settings` say.
    ///
    /// # Errors
    /// The same.
    pub fn bind_given(
        settings: Settings,
        pipeline: Pipeline<S>,
        given: &mut Given,
    ) -> Result<Self, BindError> {
        let workers = settings.workers.get();
        let mut listeners: Vec<Vec<Ear>> = (0..workers).map(|_| Vec::new()).collect();
        let mut local_addrs = Vec::new();
        for (place, &Listener { address, .. }) in settings.listen.iter().enumerate() {
            let bound = listen_all(place, address, &mut listeners, given);
            local_addrs.push(bound.map_err(|error| BindError { address, error })?);
        }
        Ok(Self {
            common: Arc::new(Common::new(settings, pipeline)),
            local_addrs,
            listeners,
        })
    }

    /// What decides about its requests.
    pub fn pipeline(&self) -> &Arc<Pipeline<S>> {
        &self.common.pipeline
    }

    /// The addresses listened on, in the order of the settings.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local_addrs
    }

    /// Replaces certificates while the gateway runs.
    pub fn tls(&self) -> TlsSwitch {
        self.common.tls.clone()
    }

    /// The sockets it listens with, once more: while one of each is open, the system takes connections.
    ///
    /// # Errors
    /// Too few files may be open.
    pub fn sockets(&self) -> io::Result<Vec<TcpListener>> {
        self.listeners
            .iter()
            .flatten()
            .map(|ear| ear.socket.try_clone())
            .collect()
    }

    /// Serves until `stop` is ready, then takes no more connections, lets requests in flight finish and closes, in the manner that `stop`
    /// says. What takes longer than [`Timeouts::drain`] is cut, upgraded connections among it. Dropping the future stops at once.
    ///
    /// # Errors
    /// A worker that could not start or did not last.
    pub async fn run(self, stop: impl Future<Output = Farewell>) -> io::Result<Drained> {
        let (asked, stopped) = watch::channel(None);
        let watching = self.common.watch_upstreams();
        let mut watching = pin!(watching);
        let mut workers = Vec::new();
        for (index, listeners) in self.listeners.into_iter().enumerate() {
            workers.push(start(index, self.common.clone(), listeners, stopped.clone())?);
        }
        tokio::select! {
            never = &mut watching => match never {},
            // Workers end by themselves only when something is wrong. The others stop when `asked` is dropped.
            ended = next_ended(&mut workers) => {
                ended?;
                return Err(io::Error::other("a worker of the gateway ended by itself"));
            }
            farewell = stop => asked.send_replace(Some(farewell)),
        };
        let mut cut = 0;
        while !workers.is_empty() {
            tokio::select! {
                never = &mut watching => match never {},
                ended = next_ended(&mut workers) => cut += ended?,
            }
        }
        Ok(Drained { cut })
    }
}

type Running = oneshot::Receiver<io::Result<usize>>;

fn start<S: Store>(
    index: usize,
    common: Arc<Common<S>>,
    listeners: Vec<Ear>,
    stop: watch::Receiver<Option<Farewell>>,
) -> io::Result<Running> {
    let (told, running) = oneshot::channel();
    std::thread::Builder::new()
        .name(format!("gateway-{index}"))
        .spawn(move || {
            // Nobody may be listening any more; then nobody needs to know.
            let _ = told.send(worker::run(index, common, listeners, stop));
        })?;
    Ok(running)
}

/// Waits for the next of `workers` to end and takes it out.
async fn next_ended(workers: &mut Vec<Running>) -> io::Result<usize> {
    poll_fn(|cx| {
        for index in 0..workers.len() {
            if let Poll::Ready(ended) = Pin::new(&mut workers[index]).poll(cx) {
                workers.swap_remove(index);
                let panicked = |_| io::Error::other("a worker of the gateway panicked");
                return Poll::Ready(ended.map_err(panicked).flatten());
            }
        }
        Poll::Pending
    })
    .await
}
