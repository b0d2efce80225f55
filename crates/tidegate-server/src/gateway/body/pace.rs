//! How fast a client's body has to come.

use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::gateway::deadline::{Deadline, Deadlines};

/// Watches that a body does not drip: a client may have bytes waited for as long as they would take at some rate, and a while longer.
/// Time in which the upstream takes no bytes is not counted.
pub(crate) struct Pace {
    clock: Rc<Deadlines>,
    due: Deadline,
    /// How long a client is waited for without a byte.
    grace: Duration,
    bytes_per_second: u64,
    bytes: u64,
    /// Ticks in which the client was waited for.
    waited: u64,
    /// Since when it is waited for now.
    since: Option<u64>,
}

impl Pace {
    pub(crate) fn new(clock: &Rc<Deadlines>, grace: Duration, bytes_per_second: u64) -> Self {
        Self {
            clock: clock.clone(),
            due: clock.deadline(),
            grace,
            bytes_per_second,
            bytes: 0,
            waited: 0,
            since: None,
        }
    }

    /// The client is waited for. Ready once it was for too long.
    pub(crate) fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.since.is_none() {
            let now = self.clock.now();
            self.since = Some(now);
            // One more: part of the current tick has passed already. None at all if it has been too slow.
            let due = (self.allowed() + 1)
                .checked_sub(self.waited)
                .map_or(now, |left| now.saturating_add(left));
            self.due.set_due(due);
        }
        self.due.poll(cx)
    }

    /// So many bytes came.
    pub(crate) fn came(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(since) = self.since.take() {
            self.waited += self.clock.now().saturating_sub(since);
            self.due.clear();
        }
    }

    /// How many ticks its bytes may have taken.
    fn allowed(&self) -> u64 {
        let earned = self.bytes.saturating_mul(1000) / self.bytes_per_second.max(1);
        self.clock
            .ticks(self.grace.saturating_add(Duration::from_millis(earned)))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    fn too_slow(pace: &mut Pace) -> bool {
        pace.wait(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Lets seconds pass, of one tick each.
    fn pass(clock: &Deadlines, seconds: u64) {
        (0..seconds).for_each(|_| clock.advance());
    }

    #[test]
    fn a_client_that_sends_nothing_has_the_grace_and_a_tick() {
        let clock = Deadlines::new(Duration::from_secs(1));
        let mut pace = Pace::new(&clock, GRACE, 100);
        assert!(!too_slow(&mut pace));
        pass(&clock, GRACE.as_secs());
        assert!(!too_slow(&mut pace));
        pass(&clock, 1);
        assert!(too_slow(&mut pace));
    }

    #[test]
    fn a_client_that_drips_is_too_slow_and_one_at_the_rate_never_is() {
        let clock = Deadlines::new(Duration::from_secs(1));
        for (bytes, lasts) in [(1, false), (99, false), (100, true), (200, true)] {
            let mut pace = Pace::new(&clock, GRACE, 100);
            let slow = (0..10_000).any(|_| {
                let slow = too_slow(&mut pace);
                pass(&clock, 1);
                pace.came(bytes);
                slow
            });
            assert_eq!(slow, !lasts, "{bytes}");
        }
    }

    #[test]
    fn what_the_upstream_takes_is_not_the_client_s_time() {
        let clock = Deadlines::new(Duration::from_secs(1));
        let mut pace = Pace::new(&clock, GRACE, 100);
        for _ in 0..100 {
            assert!(!too_slow(&mut pace));
            pace.came(1);
            pass(&clock, 100);
        }
    }
}
