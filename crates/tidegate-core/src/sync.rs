//! Atomics, locks and waiting, so that loom can take their place.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync as locks;
#[cfg(all(feature = "std", not(loom)))]
use std::sync as locks;

/// Stores into a word that only the caller changes, while others may fail at a read-modify-write of it.
///
/// A store comes after each such failure that it did not see, or the failed one would have seen the store. Loom 0.7 does not
/// know this (its list of rules leaves "RMW atomicity" empty), so it gets a swap, which says the same.
#[inline]
pub(crate) fn store_as_owner(word: &AtomicU64, value: u64, order: Ordering) {
    #[cfg(not(loom))]
    word.store(value, order);
    #[cfg(loom)]
    word.swap(value, order);
}

/// What a lock gives to its holder.
#[cfg(any(feature = "std", loom))]
pub(crate) type Guard<'a, T> = locks::MutexGuard<'a, T>;
/// What a lock gives to its holder.
#[cfg(not(any(feature = "std", loom)))]
pub(crate) type Guard<'a, T> = spin::MutexGuard<'a, T>;

/// A lock for work of up to some microseconds: waiters sleep with `std`, and spin without.
#[derive(Debug)]
pub(crate) struct Mutex<T>(
    #[cfg(any(feature = "std", loom))] locks::Mutex<T>,
    #[cfg(not(any(feature = "std", loom)))] spin::Mutex<T>,
);

#[cfg(any(feature = "std", loom))]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(locks::Mutex::new(value))
    }

    /// Nothing under these locks panics half-way, so a poisoned one holds no broken state.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(not(any(feature = "std", loom)))]
impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(spin::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock()
    }
}

/// Looks at a busy lock before the thread gives its time slice away. A line is held for some tens of nanoseconds, so
/// one that stays busy for longer than this has a holder that is not running.
#[cfg(all(feature = "std", not(loom)))]
const LOOKS: u32 = 16;

/// Pauses between two looks at a busy lock. Each look takes the line away from its holder, who needs it to let go: two threads on
/// one key took 230 to 260 ns each per charge with one pause, and 115 to 175 with eight; with two or four it was now the one, now
/// the other.
#[cfg(not(loom))]
const PAUSES: u32 = 8;

/// Waiting for a lock that is held for a very short time.
pub(crate) struct Wait {
    #[cfg(all(feature = "std", not(loom)))]
    looks: u32,
}

impl Wait {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(all(feature = "std", not(loom)))]
            looks: 0,
        }
    }

    /// Waits a little: spinning at first, then (with `std`) by letting other threads run.
    #[cfg(not(loom))]
    pub(crate) fn a_little(&mut self) {
        #[cfg(feature = "std")]
        {
            self.looks = self.looks.saturating_add(1);
            if self.looks > LOOKS {
                return std::thread::yield_now();
            }
        }
        for _ in 0..PAUSES {
            core::hint::spin_loop();
        }
    }

    #[cfg(loom)]
    pub(crate) fn a_little(&mut self) {
        loom::thread::yield_now();
    }
}
