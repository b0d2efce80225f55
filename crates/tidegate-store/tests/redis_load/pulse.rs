//! How long the machine itself holds threads up: whoever waits for it waits no longer because of a store.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tidegate_test_servers::Watch;

/// How often it is looked.
const BEAT: Duration = Duration::from_millis(2);

/// A thread that finds out how late it is itself, and how long threads of instances wait for a processor.
pub(crate) struct Pulse {
    watched: Watched,
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

/// What the kernel says of each thread of an instance.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<Vec<PathBuf>>>);

impl Pulse {
    pub(crate) fn start() -> Self {
        let (watched, stopped) = (Watched::default(), Arc::new(AtomicBool::new(false)));
        let (threads, told) = (watched.clone(), Arc::clone(&stopped));
        let thread = thread::spawn(move || {
            let (mut latest, mut waited) = (Duration::ZERO, Vec::new());
            // A flag on its own: no other memory hangs on it.
            while !told.load(Relaxed) {
                let watch = Watch::start();
                thread::park_timeout(BEAT);
                latest = latest.max(watch.elapsed().saturating_sub(BEAT));
                latest = latest.max(threads.longest_wait(&mut waited));
            }
            latest
        });
        Self {
            watched,
            stopped,
            thread,
        }
    }

    /// Where threads of instances are to be told of.
    pub(crate) fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// How long a thread was held up at most.
    pub(crate) fn ends(self) -> Duration {
        self.stopped.store(true, Relaxed);
        self.thread.join().expect("the pulse ends")
    }
}

impl Watched {
    /// Watches the thread that says so.
    pub(crate) fn this_thread(&self) {
        if let Ok(thread) = fs::read_link("/proc/thread-self") {
            let path = Path::new("/proc").join(thread).join("schedstat");
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        }
    }

    /// How long one of them has waited for a processor since `before`.
    fn longest_wait(&self, before: &mut Vec<Duration>) -> Duration {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited: Vec<Duration> = threads.iter().map(|path| waited(path)).collect();
        let grown = waited.iter().zip(&*before);
        let longest = grown.map(|(now, before)| now.saturating_sub(*before)).max();
        *before = waited;
        longest.unwrap_or_default()
    }
}

/// The second number in `schedstat`: nanoseconds that the thread could have run and did not.
fn waited(path: &Path) -> Duration {
    let text = fs::read_to_string(path).unwrap_or_default();
    let nanos = text
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
