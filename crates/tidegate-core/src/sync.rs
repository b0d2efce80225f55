//! Atomics and waiting, so that loom can take their place.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// Looks at a busy lock before the thread gives its time slice away. A line is held for some tens of nanoseconds, so
/// one that stays busy for longer than this has a holder that is not running.
#[cfg(not(loom))]
const SPINS: u32 = 64;

/// Waiting for a lock that is held for a very short time.
pub(crate) struct Wait {
    #[cfg(not(loom))]
    looks: u32,
}

impl Wait {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(not(loom))]
            looks: 0,
        }
    }

    /// Waits a little: spinning at first, then (with `std`) by letting other threads run.
    #[cfg(not(loom))]
    pub(crate) fn a_little(&mut self) {
        self.looks = self.looks.saturating_add(1);
        #[cfg(feature = "std")]
        if self.looks > SPINS {
            std::thread::yield_now();
            return;
        }
        core::hint::spin_loop();
    }

    #[cfg(loom)]
    pub(crate) fn a_little(&mut self) {
        loom::thread::yield_now();
    }
}
