//! Somebody who means no harm.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::raw::Raw;
use tidegate_test_servers::Watch;

/// Asks again and again, each time over a new connection, while something else goes on.
#[derive(Debug)]
pub struct Ordinary {
    over: Arc<AtomicBool>,
    asking: JoinHandle<Asked>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Requests that were answered with 200.
    pub served: usize,
    /// Everything else that was answered.
    pub failed: Vec<String>,
    /// The longest wait for an answer.
    pub longest: Duration,
}

impl Ordinary {
    /// Begins to ask for `/ordinary` at `address`.
    pub fn begin(address: SocketAddr) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let asking = thread::spawn(move || {
            let mut asked = Asked::default();
            // A flag and nothing else: no memory is handed over with it.
            while !until.load(Ordering::Relaxed) {
                asked.once(address);
            }
            asked
        });
        Self { over, asking }
    }

    /// Asks no more.
    pub fn end(self) -> Asked {
        self.over.store(true, Ordering::Relaxed);
        self.asking.join().unwrap()
    }
}

impl Asked {
    fn once(&mut self, address: SocketAddr) {
        let watch = Watch::start();
        let mut client = Raw::connect(address);
        client.send("GET /ordinary HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let told = client.rest();
        if told.starts_with("HTTP/1.1 200 ") {
            self.served += 1;
        } else {
            self.failed.push(told);
        }
        self.longest = self.longest.max(watch.elapsed());
    }
}
