//! What one run measured, and what is promised.

use core::time::Duration;

use crate::crowd::{INSTANCES, SPENDING, SPENT};

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
    /// What the clients of each instance saw.
    pub(crate) instances: [Seen; INSTANCES],
    /// How long after the store's own recovery both instances decided again.
    pub(crate) recovered: Duration,
    /// Admitted above the limit of the counter that was spent before.
    pub(crate) over_spent: i64,
    /// Admitted above the limit of the counter that was being spent.
    pub(crate) over_spending: i64,
}

/// What the clients of one instance saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// How long a request took at most.
    pub(crate) longest: Duration,
    /// How long the instance came to no decision.
    pub(crate) undecided: Duration,
    /// Requests without an answer in time.
    pub(crate) timeouts: u64,
    /// Requests that failed at once.
    pub(crate) unavailable: u64,
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
        let all = self.all();
        eprintln!(
            "| {} | {} ms ({} ms) | {} ms | {} ms | {} | {} | {} | {} |",
            self.fault,
            all.longest.as_millis(),
            self.machine.as_millis(),
            all.undecided.as_millis(),
            self.recovered.as_millis(),
            all.timeouts,
            all.unavailable,
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
        assert!(all.longest < patience, "{self:?}");
        assert!(self.recovered < RECOVERY, "{self:?}");
    }

    /// What all clients saw.
    pub(crate) fn all(&self) -> Seen {
        let worst = |pick: fn(&Seen) -> Duration| self.instances.iter().map(pick).max();
        let sum = |pick: fn(&Seen) -> u64| self.instances.iter().map(pick).sum();
        Seen {
            longest: worst(|seen| seen.longest).unwrap_or_default(),
            undecided: worst(|seen| seen.undecided).unwrap_or_default(),
            timeouts: sum(|seen| seen.timeouts),
            unavailable: sum(|seen| seen.unavailable),
        }
    }
}
