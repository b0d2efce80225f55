//! The upstream's failures in the log: told at once, and then summed up, so that an upstream that is down writes a line per second
//! and not one per request.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tidegate_core::Timestamp;

/// How often one kind of failure is told, by each worker.
const EVERY: Duration = Duration::from_secs(1);

/// A worker's complaints about one upstream.
pub(super) struct Complaints {
    upstream: String,
    pending: Cell<u64>,
    /// By kind; there are as many as there are kinds.
    kinds: RefCell<Vec<Kind>>,
}

struct Kind {
    error: &'static str,
    /// Not told yet.
    times: u64,
    /// When it may be told again.
    next: Timestamp,
}

impl Complaints {
    pub(super) fn about(upstream: String) -> Self {
        Self {
            upstream,
            pending: Cell::new(0),
            kinds: RefCell::default(),
        }
    }

    /// One more of `error`, told at once if none was told within a second.
    pub(super) fn add(&self, error: &'static str, now: Timestamp) {
        let mut kinds = self.kinds.borrow_mut();
        match kinds.iter_mut().find(|kind| kind.error == error) {
            Some(kind) => kind.times += 1,
            None => kinds.push(Kind {
                error,
                times: 1,
                next: now,
            }),
        }
        self.pending.set(self.pending.get() + 1);
        drop(kinds);
        self.settle(now);
    }

    /// Whether something was not told yet.
    pub(super) fn are_pending(&self) -> bool {
        self.pending.get() > 0
    }

    /// Tells what may be told again.
    pub(super) fn settle(&self, now: Timestamp) {
        for kind in self.kinds.borrow_mut().iter_mut() {
            if let Some(times) = kind.due(now) {
                self.pending.set(self.pending.get().saturating_sub(times));
                let (upstream, error) = (&*self.upstream, kind.error);
                tracing::warn!(upstream, error, times, "the upstream fails");
            }
        }
    }
}

impl Kind {
    /// How many to tell of now.
    fn due(&mut self, now: Timestamp) -> Option<u64> {
        if self.times == 0 || now < self.next {
            return None;
        }
        self.next = now.saturating_add(EVERY);
        Some(std::mem::take(&mut self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_others_together_a_second_later() {
        let start = Timestamp::from_nanos(1_000_000_000_000);
        let mut kind = Kind {
            error: "upstream_unreachable",
            times: 1,
            next: start,
        };
        assert_eq!(kind.due(start), Some(1));
        kind.times += 700;
        assert_eq!(
            kind.due(start.saturating_add(EVERY - Duration::from_nanos(1))),
            None
        );
        assert_eq!(kind.due(start.saturating_add(EVERY)), Some(700));
        assert_eq!(kind.due(start.saturating_add(EVERY * 9)), None);
    }

    #[test]
    fn what_was_told_is_not_pending() {
        let complaints = Complaints::about("http://origin".to_owned());
        let start = Timestamp::from_nanos(1_000_000_000_000);
        complaints.add("upstream_closed", start);
        assert!(!complaints.are_pending());
        complaints.add("upstream_closed", start);
        assert!(complaints.are_pending());
        complaints.settle(start.saturating_add(EVERY));
        assert!(!complaints.are_pending());
    }
}
