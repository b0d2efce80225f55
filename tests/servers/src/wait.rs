//! Waiting for events, never for an amount of time.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long an event may take before the test is called hung.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two attempts, so that whoever waits leaves the processor to whom it waits for.
const PAUSE: Duration = Duration::from_millis(1);

/// Tries until there is something.
pub fn until<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let watch = Watch::start();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(watch.elapsed() < PATIENCE, "never: {what}");
        thread::park_timeout(PAUSE);
    }
}

/// Real time, for what clients measure with a real clock.
#[derive(Clone, Copy, Debug)]
pub struct Watch(Instant);

impl Watch {
    /// Starts now.
    #[allow(clippy::disallowed_methods, reason = "real clients live in real time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// The time of day, in seconds since 1970, to be held against `X-RateLimit-Reset`.
    #[allow(clippy::disallowed_methods, reason = "real clients live in real time")]
    pub fn unix_secs() -> f64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64()
    }
}
