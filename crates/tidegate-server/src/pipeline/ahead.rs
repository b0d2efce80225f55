//! Reading bodies ahead of their requests: what the pipeline asks of its door, and how much memory that takes in all.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_policy::{Body, Plan, Verdict};

/// A door that can read the beginning of a body before its request goes on.
pub(crate) trait ReadAhead {
    /// The body of a request, as it comes.
    type Incoming;
    /// What was read, for whoever forwards it.
    type Early;

    /// Whether there is no body.
    fn is_empty(&self, body: &Self::Incoming) -> bool;

    /// Reads the whole of `body` if it has at most `most` bytes. What is held is booked to `held`.
    async fn read(
        &self,
        body: &mut Self::Incoming,
        most: usize,
        held: &Arc<Held>,
    ) -> Result<(Body, Option<Self::Early>), NotRead>;

    /// Whether it wants to know what would be decided, and nothing is to be spent.
    fn only_looks(&self) -> bool {
        false
    }

    /// What has to happen first, before the counters of `plan` are asked. None, in the usual case: nothing.
    fn turn<'t>(&'t self, _plan: &Plan<'_>) -> Option<Pin<Box<dyn Future<Output = ()> + 't>>> {
        None
    }

    /// Is told what the limits said.
    fn decided(&self, _verdict: &Verdict<'_>) {}
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// It broke off or is malformed.
    Broken,
    /// It did not come in time.
    Late,
    /// It is longer than the gateway takes.
    TooLong,
    /// Too much of other bodies is held.
    Crowded,
}

/// Bytes of bodies that are held in this process.
#[derive(Debug, Default)]
pub(crate) struct Held(AtomicUsize);

/// Some of them, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    held: Arc<Held>,
    bytes: usize,
}

impl Share {
    /// Nothing yet.
    pub(crate) fn new(held: &Arc<Held>) -> Self {
        Self {
            held: held.clone(),
            bytes: 0,
        }
    }

    /// Books `more` bytes; false, and nothing booked, if then more than `most` would be held in all.
    pub(crate) fn grow(&mut self, more: usize, most: usize) -> bool {
        // A count and nothing else; no memory is handed over with it.
        let before = self.held.0.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) > most {
            self.held.0.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.bytes += more;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_comes_back() {
        let held = Arc::default();
        let (mut one, mut two) = (Share::new(&held), Share::new(&held));
        assert!(one.grow(60, 100));
        assert!(!two.grow(41, 100));
        assert!(two.grow(40, 100));
        drop(one);
        assert!(two.grow(60, 100));
        assert!(!two.grow(1, 100));
    }
}
