//! What the lookups count about themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_store::redis::api_keys::{FoundKey, KeyError};

/// What was done to find out about API keys of the shared store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyFigures {
    /// Requests whose key was in the book.
    pub remembered: u64,
    /// Requests that waited for a question that another one had asked.
    pub shared: u64,
    /// Questions that found a key.
    pub found: u64,
    /// Questions that found none.
    pub absent: u64,
    /// Questions that were not answered.
    pub failed: u64,
    /// Questions that found something that is no entry.
    pub broken: u64,
    /// Requests that could not ask, because too many did.
    pub crowded: u64,
    /// Requests let in by an older answer, because there was no newer one.
    pub stale: u64,
    /// Requests refused because nobody could tell.
    pub refused: u64,
}

/// Each stands alone: nothing hangs on their order.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) remembered: AtomicU64,
    pub(super) shared: AtomicU64,
    found: AtomicU64,
    absent: AtomicU64,
    failed: AtomicU64,
    broken: AtomicU64,
    pub(super) crowded: AtomicU64,
    pub(super) stale: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Counters {
    pub(super) fn answered(&self, answer: &Result<Option<FoundKey>, KeyError>) {
        count(match answer {
            Ok(Some(_)) => &self.found,
            Ok(None) => &self.absent,
            Err(KeyError::Broken(_)) => &self.broken,
            Err(_) => &self.failed,
        });
    }

    pub(super) fn read(&self) -> KeyFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        KeyFigures {
            remembered: read(&self.remembered),
            shared: read(&self.shared),
            found: read(&self.found),
            absent: read(&self.absent),
            failed: read(&self.failed),
            broken: read(&self.broken),
            crowded: read(&self.crowded),
            stale: read(&self.stale),
            refused: read(&self.refused),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
