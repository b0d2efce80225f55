//! Somebody who means no harm.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::raw::Raw;
use tidegate_test_servers::Watch;

/// Asks again and again while something else goes on.
#[derive(Debug)]
pub struct Ordinary {
    shared: Arc<Shared>,
    asking: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    served: AtomicUsize,
    asked: Mutex<Asked>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Requests that got the right answer.
    pub served: usize,
    /// Everything else that was answered.
    pub failed: Vec<String>,
    /// The longest wait for an answer.
    pub longest: Duration,
}

impl Ordinary {
    /// Begins to ask for `/ordinary` at `address`, in clear, each time over a new connection.
    pub fn begin(address: SocketAddr) -> Self {
        Self::asking(move || get(address, "/ordinary", "nginx says GET /ordinary\n"))
    }

    /// Begins to ask as `ask` does, which returns what it was told if that is not right.
    pub fn asking(mut ask: impl FnMut() -> Result<(), String> + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        // Flags and counts: no memory is handed over with them.
        let asking = thread::spawn(move || {
            while !own.over.load(Ordering::Relaxed) {
                let watch = Watch::start();
                let told = ask();
                own.served.fetch_add(usize::from(told.is_ok()), Ordering::Relaxed);
                let mut asked = own.asked.lock().unwrap_or_else(PoisonError::into_inner);
                asked.longest = asked.longest.max(watch.elapsed());
                asked.failed.extend(told.err());
            }
        });
        Self { shared, asking }
    }

    /// How often it got the right answer up to now.
    pub fn served(&self) -> usize {
        self.shared.served.load(Ordering::Relaxed)
    }

    /// Asks no more.
    pub fn end(self) -> Asked {
        self.shared.over.store(true, Ordering::Relaxed);
        self.asking.join().unwrap();
        let asked = self.shared.asked.lock().unwrap().clone();
        let served = self.shared.served.load(Ordering::Relaxed);
        Asked { served, ..asked }
    }
}

/// Asks for `path` over a connection of its own; what was told if it is not 200 with a body that begins with `right`.
pub fn get(address: SocketAddr, path: &str, right: &str) -> Result<(), String> {
    let mut client = Raw::connect(address);
    client.send(format!(
        "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    ));
    let told = client.rest();
    let body = told.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    if told.starts_with("HTTP/1.1 200 ") && body.starts_with(right) {
        Ok(())
    } else {
        Err(told)
    }
}
