//! Sliding window log: every spending is remembered until it is one window old. Exact, at 16 bytes per moment of spending.
//!
//! Bound: `quota` in every window's length, wherever it begins.

use super::recent::Recent;
use super::tally::Usage;
use crate::limit::{LimitError, Rate};

/// The largest quota of a sliding window log: 16 bytes each, in memory that grows by doubling, are up to 262 kB for one key.
/// Larger ones are a sliding window.
pub const MAX_LOG_QUOTA: u64 = 10_000;

/// What was spent in the last window.
pub(crate) type Log = Recent<()>;

/// The numbers of a sliding window log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlidingWindowLog(Rate);

impl SlidingWindowLog {
    /// # Errors
    /// [`LimitError::LogTooLong`].
    pub(crate) const fn new(rate: Rate) -> Result<Self, LimitError> {
        if rate.quota() > MAX_LOG_QUOTA {
            return Err(LimitError::LogTooLong);
        }
        Ok(Self(rate))
    }

    pub(crate) const fn rate(self) -> Rate {
        self.0
    }

    pub(crate) fn read(self, log: Option<&Log>, cost: u64, now: u64) -> (Usage, u64) {
        let window = self.0.window_ns();
        match log {
            Some(log) => log.read(self.0.quota(), cost, window, now),
            None => (Usage::none(now + window), u64::MAX),
        }
    }

    pub(crate) fn spend(self, log: Option<Log>, units: u64, now: u64) -> Log {
        let mut log = log.unwrap_or_else(Log::new);
        log.spend(units, (), self.0.window_ns(), now);
        log
    }

    /// Gives back the latest `units`.
    pub(crate) fn refund(self, log: &mut Log, units: u64, now: u64) {
        log.refund_latest(units, self.0.window_ns(), now);
    }

    /// Gives back `units` of the spending that counts until `until`.
    pub(crate) fn give_back(self, log: &mut Log, units: u64, until: u64) {
        log.give_back(units, until.saturating_sub(self.0.window_ns()));
    }
}
