//! Moments, as whole nanoseconds since the Unix epoch.

use core::fmt;
use core::time::Duration;

/// A moment: nanoseconds since 1970-01-01T00:00:00Z, at most [`Timestamp::MAX`] (the year 2262).
///
/// The upper half of `u64` is kept free so that a moment plus the longest wait a limit can ask for still fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);
    /// The last moment that can be written: 2262-04-11T23:47:16.854775807Z.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The moment `nanos` after the epoch; later ones than [`Timestamp::MAX`] become it.
    pub const fn from_nanos(nanos: u64) -> Self {
        if nanos > Self::MAX.0 {
            Self::MAX
        } else {
            Self(nanos)
        }
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// This moment, `span` later, or [`Timestamp::MAX`].
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        Self::from_nanos(self.0.saturating_add(nanos(span)))
    }

    /// This moment, `span` earlier, or the epoch.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to this moment, zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// `span` in nanoseconds; spans beyond 584 years become `u64::MAX`.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
