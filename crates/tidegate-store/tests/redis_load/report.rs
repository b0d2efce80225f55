//! What one run measured, and what is promised.

use core::time::Duration;

use crate::crowd::{SPENDING, SPENT};

/// What comes on top of a timeout, besides how long the machine itself holds threads up.
const SLACK: Duration = Duration::from_millis(100);
/// How often it may be held up: when its time is over, when it is told so, and when it looks at the clock.
const HOLDUPS: u32 = 3;
/// How long after the store's own recovery an instance may need for its own.
const RECOVERY: Duration = Duration::from_secs(3);

/// What one run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// What happened to the store.
    pub(crate) fault: &'static str,
    /// How long a request may take.
    pub(crate) timeout: Duration,
    /// How long the machine held a thread up at most.
    pub(crate) machine: Duration,
    /// How long one took at most.
    pub(crate) longest: Duration,
    /// How long an instance came to no decision.
    pub(crate) undecided: Duration,
    /// How long after the store's own recovery both instances decided again.
    pub(crate) recovered: Duration,
    /// Requests without an answer in time.
    pub(crate) timeouts: u64,
    /// Requests that failed at once.
    pub(crate) unavailable: u64,
    /// Admitted above the limit of the counter that was spent before.
    pub(crate) over_spent: i64,
    /// Admitted above the limit of the counter that was being spent.
    pub(crate) over_spending: i64,
}

/// The most that may be admitted above the limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// Nothing, and nothing is lost either.
    Exact,
    /// Nothing.
    None,
    /// What was answered and not yet on the replica: no more than is asked at one time.
    AtOneTime,
    /// The whole limit once more: all is forgotten.
    OnceMore,
}

/// All askers.
const AT_ONE_TIME: i64 = 64;

impl Report {
    /// Prints it, and holds it against what is promised.
    #[allow(clippy::print_stderr, reason = "a test says what it measured")]
    pub(crate) fn holds(self, bound: Bound) {
        eprintln!(
            "| {} | {} ms ({} ms) | {} ms | {} ms | {} | {} | {} | {} |",
            self.fault,
            self.longest.as_millis(),
            self.machine.as_millis(),
            self.undecided.as_millis(),
            self.recovered.as_millis(),
            self.timeouts,
            self.unavailable,
            self.over_spent,
            self.over_spending,
        );
        let over = [self.over_spent, self.over_spending];
        let kept = match bound {
            Bound::Exact => over == [0, 0],
            Bound::None => over.iter().all(|&over| over <= 0),
            Bound::AtOneTime => self.over_spent <= 0 && self.over_spending <= AT_ONE_TIME,
            Bound::OnceMore => {
                self.over_spent <= SPENT.cast_signed() && self.over_spending <= SPENDING.cast_signed()
            }
        };
        assert!(kept, "{bound:?}: {self:?}");
        let patience = self.timeout + SLACK + HOLDUPS * self.machine;
        assert!(self.longest < patience, "{self:?}");
        assert!(self.recovered < RECOVERY, "{self:?}");
    }
}
