//! When the process shall end: Ctrl-C and SIGTERM.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the process, caught from the moment this exists.
#[derive(Debug)]
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Catches SIGINT and SIGTERM from now on. Call it inside a runtime.
    ///
    /// # Errors
    /// When the system refuses the handlers; the signals then still kill the process.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of them and says its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
