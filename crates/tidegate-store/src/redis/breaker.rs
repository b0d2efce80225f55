//! When to stop asking a server that does not answer, and when to try again.
//!
//! Pure: every step is told what time it is.

use core::time::Duration;

/// Failures in a row after which a server is not asked any more.
pub(crate) const FAILURES: u32 = 5;
/// How long it is left alone at first.
pub(crate) const FIRST_REST: Duration = Duration::from_millis(100);
/// How long at most: each probe that fails doubles the rest.
pub(crate) const LONGEST_REST: Duration = Duration::from_secs(1);

/// Keeps a server that fails from costing every request its timeout.
///
/// Times are spans since any one moment that stays the same.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    state: State,
    /// How long the next rest is.
    rest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Asked, and failed so often since it last answered.
    Closed { failures: u32 },
    /// Not asked before that moment.
    Open { until: Duration },
    /// Asked once, to see whether it answers.
    HalfOpen,
}

/// What a breaker says, for figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// The server is asked.
    Closed,
    /// It failed several times in a row and is left alone for a moment.
    Open,
    /// One call finds out whether it answers again.
    HalfOpen,
}

impl BreakerState {
    /// Its word in figures.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// A call that may be made. Its outcome is owed to the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// One of many.
    Call,
    /// The one that decides whether others follow.
    Probe,
}

/// What an outcome changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// From now on nobody asks.
    Opened,
    /// All may ask again.
    Closed,
}

impl Breaker {
    /// Closed.
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Closed { failures: 0 },
            rest: FIRST_REST,
        }
    }

    /// Whether it is of use to bring a request here.
    pub(crate) fn lets_in(&self, now: Duration) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } => now >= until,
            State::HalfOpen => false,
        }
    }

    /// Asks for a call. The first after a rest is the probe.
    pub(crate) fn ask(&mut self, now: Duration) -> Option<Permit> {
        match self.state {
            State::Closed { .. } => Some(Permit::Call),
            State::Open { until } if now >= until => {
                self.state = State::HalfOpen;
                Some(Permit::Probe)
            }
            State::Open { .. } | State::HalfOpen => None,
        }
    }

    /// The server answered.
    pub(crate) fn succeeded(&mut self, permit: Permit) -> Change {
        match (permit, self.state) {
            (Permit::Probe, State::HalfOpen) => {
                *self = Self::new();
                Change::Closed
            }
            (_, State::Closed { .. }) => {
                self.state = State::Closed { failures: 0 };
                Change::None
            }
            // An answer to what was asked before the rest began: the probe decides.
            _ => Change::None,
        }
    }

    /// The server did not answer, or not in time.
    pub(crate) fn failed(&mut self, permit: Permit, now: Duration) -> Change {
        match (permit, self.state) {
            (Permit::Probe, State::HalfOpen) => {
                self.open(now);
                Change::None
            }
            (_, State::Closed { failures }) => {
                let failures = failures.saturating_add(1);
                if failures < FAILURES {
                    self.state = State::Closed { failures };
                    return Change::None;
                }
                self.open(now);
                Change::Opened
            }
            _ => Change::None,
        }
    }

    /// There is a new connection to the server: the rest is over.
    pub(crate) fn reconnected(&mut self, now: Duration) {
        if let State::Open { until } = self.state {
            self.state = State::Open {
                until: until.min(now),
            };
        }
    }

    /// What it says at the moment.
    pub(crate) const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen => BreakerState::HalfOpen,
        }
    }

    fn open(&mut self, now: Duration) {
        self.state = State::Open {
            until: now.saturating_add(self.rest),
        };
        self.rest = self.rest.saturating_mul(2).min(LONGEST_REST);
    }
}

#[cfg(test)]
mod tests;
