//! The upstream's failures in the log: told at once, and then summed up, so that an upstream that is down writes a line per second
//! and not one per request.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tidegate_core::Timestamp;

/// How often one kind of failure is told, by each worker.
const EVERY: Duration = Duration::from_secs(1);

/// Who failed: the names of the upstream and of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blame<'a> {
    pub(crate) upstream: &'a str,
    pub(crate) server: &'a str,
}

/// A worker's complaints about upstreams.
#[derive(Default)]
pub(super) struct Complaints {
    pending: Cell<u64>,
    /// Those of the last moments, so there are no more than servers times kinds.
    kinds: RefCell<Vec<Kind>>,
}

/// One error of one server.
struct Kind {
    upstream: Box<str>,
    server: Box<str>,
    error: &'static str,
    /// Not told yet.
    times: u64,
    /// When it may be told again.
    next: Timestamp,
}

impl Complaints {
    /// One more of `error` by `blame`, told at once if none was told within a second.
    pub(super) fn add(&self, blame: Blame<'_>, error: &'static str, now: Timestamp) {
        let mut kinds = self.kinds.borrow_mut();
        match kinds.iter_mut().find(|kind| kind.is(blame, error)) {
            Some(kind) => kind.times += 1,
            None => kinds.push(Kind::first(blame, error, now)),
        }
        self.pending.set(self.pending.get() + 1);
        drop(kinds);
        self.settle(now);
    }

    /// Whether something was not told yet.
    pub(super) fn are_pending(&self) -> bool {
        self.pending.get() > 0
    }

    /// Tells what may be told again, and forgets what is long past: servers come and go with reloads.
    pub(super) fn settle(&self, now: Timestamp) {
        self.kinds.borrow_mut().retain_mut(|kind| {
            if now < kind.next {
                return true;
            }
            let Some(times) = kind.due(now) else {
                return false;
            };
            self.pending.set(self.pending.get().saturating_sub(times));
            let Kind {
                upstream,
                server,
                error,
                ..
            } = kind;
            tracing::warn!(
                upstream = &**upstream,
                server = &**server,
                error,
                times,
                "the upstream fails"
            );
            true
        });
    }
}

impl Kind {
    fn first(blame: Blame<'_>, error: &'static str, now: Timestamp) -> Self {
        Self {
            upstream: blame.upstream.into(),
            server: blame.server.into(),
            error,
            times: 1,
            next: now,
        }
    }

    fn is(&self, blame: Blame<'_>, error: &'static str) -> bool {
        self.error == error && *self.server == *blame.server && *self.upstream == *blame.upstream
    }

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

    const ONE: Blame<'_> = Blame {
        upstream: "app",
        server: "http://one",
    };

    #[test]
    fn the_first_is_told_at_once_and_the_others_together_a_second_later() {
        let start = Timestamp::from_nanos(1_000_000_000_000);
        let mut kind = Kind::first(ONE, "upstream_unreachable", start);
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
        let complaints = Complaints::default();
        let start = Timestamp::from_nanos(1_000_000_000_000);
        complaints.add(ONE, "upstream_closed", start);
        assert!(!complaints.are_pending());
        complaints.add(ONE, "upstream_closed", start);
        assert!(complaints.are_pending());
        complaints.settle(start.saturating_add(EVERY));
        assert!(!complaints.are_pending());
    }

    #[test]
    fn each_server_is_told_of_by_itself_and_forgotten_when_it_is_well() {
        let complaints = Complaints::default();
        let start = Timestamp::from_nanos(1_000_000_000_000);
        let other = Blame {
            server: "http://two",
            ..ONE
        };
        complaints.add(ONE, "upstream_closed", start);
        complaints.add(other, "upstream_closed", start);
        assert!(!complaints.are_pending(), "each is told at once");
        assert_eq!(complaints.kinds.borrow().len(), 2);
        complaints.settle(start.saturating_add(EVERY));
        assert!(complaints.kinds.borrow().is_empty());
    }
}
