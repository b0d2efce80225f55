//! The gateway: a streaming reverse proxy that asks the pipeline about every request.
//!
//! Each worker is one thread with its own listener (`SO_REUSEPORT`), its own connections and its own pool to the upstream, so
//! that a request never changes threads and shares nothing but the store.

mod body;
mod client;
mod connection;
mod deadline;
mod door;
mod fault;
mod fields;
mod forward;
mod framing;
mod news;
mod pool;
mod secure;
mod settings;
mod socket;
mod stream;
mod upgrade;
mod worker;

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use socket2::{Domain, Protocol, Socket, Type};
use tidegate_store::Store;
use tokio::sync::{oneshot, watch};

pub use settings::{Bounds, Listener, Settings, Timeouts};

use crate::pipeline::Pipeline;
use crate::tls::TlsSwitch;
use worker::Common;

/// A gateway that listens, and serves once it is run.
#[derive(Debug)]
pub struct Gateway<S> {
    common: Arc<Common<S>>,
    local_addrs: Vec<SocketAddr>,
    /// For each worker, one listener per address.
    listeners: Vec<Vec<TcpListener>>,
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

impl<S: Store> Gateway<S> {
    /// Listens as `settings` say. Connections wait until [`Gateway::run`].
    ///
    /// # Errors
    /// An address that cannot be listened on, for instance because another process does.
    pub fn bind(settings: Settings, pipeline: Pipeline<S>) -> Result<Self, BindError> {
        let workers = settings.workers.get();
        let mut listeners: Vec<Vec<TcpListener>> = (0..workers).map(|_| Vec::new()).collect();
        let mut local_addrs = Vec::new();
        for &Listener { address, .. } in &settings.listen {
            let bound = listen_all(address, &mut listeners).map_err(|error| BindError { address, error })?;
            local_addrs.push(bound);
        }
        Ok(Self {
            common: Arc::new(Common::new(settings, pipeline)),
            local_addrs,
            listeners,
        })
    }

    /// The addresses listened on, in the order of the settings.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local_addrs
    }

    /// Replaces certificates while the gateway runs.
    pub fn tls(&self) -> TlsSwitch {
        self.common.tls.clone()
    }

    /// Serves until `stop` is ready, then takes no more connections, lets requests in flight finish and closes. What takes longer
    /// than [`Timeouts::drain`] is cut, upgraded connections among it. Dropping the future stops in the same way.
    ///
    /// # Errors
    /// A worker that could not start or did not last.
    pub async fn run(self, stop: impl Future<Output = ()>) -> io::Result<Drained> {
        let (asked, stopped) = watch::channel(false);
        let mut workers = Vec::new();
        for (index, listeners) in self.listeners.into_iter().enumerate() {
            workers.push(start(index, self.common.clone(), listeners, stopped.clone())?);
        }
        tokio::select! {
            // Workers end by themselves only when something is wrong. The others stop when `asked` is dropped.
            ended = next_ended(&mut workers) => {
                ended?;
                return Err(io::Error::other("a worker of the gateway ended by itself"));
            }
            () = stop => {}
        }
        asked.send_replace(true);
        let mut cut = 0;
        while !workers.is_empty() {
            cut += next_ended(&mut workers).await?;
        }
        Ok(Drained { cut })
    }
}

type Running = oneshot::Receiver<io::Result<usize>>;

fn start<S: Store>(
    index: usize,
    common: Arc<Common<S>>,
    listeners: Vec<TcpListener>,
    stop: watch::Receiver<bool>,
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

/// Listens on `address` for each worker; the address with the port it really has.
fn listen_all(address: SocketAddr, workers: &mut [Vec<TcpListener>]) -> io::Result<SocketAddr> {
    refuse_shared(address)?;
    let mut bound = address;
    for worker in workers {
        let listener = listen(bound)?;
        bound = listener.local_addr()?;
        worker.push(listener);
    }
    Ok(bound)
}

/// An error if anybody listens on `address` already. `SO_REUSEPORT` alone would let two gateways of one user share a port
/// without a word.
fn refuse_shared(address: SocketAddr) -> io::Result<()> {
    if address.port() == 0 {
        return Ok(());
    }
    let socket = socket(address)?;
    socket.bind(&address.into())
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(address)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Connections that the kernel keeps for a worker before it takes them; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}
