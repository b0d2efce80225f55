//! What is allowed. An illegal limit cannot be built.

mod error;
mod share;

use core::num::NonZeroU64;
use core::ops::Range;
use core::time::Duration;

use crate::Timestamp;
use crate::algorithm::bucket::Bucket;
#[cfg(feature = "calendar")]
use crate::algorithm::calendar::{Calendar, CalendarUnit};
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::{FixedWindow, Grid, Span};
use crate::algorithm::sliding_window::SlidingWindow;
use crate::algorithm::sliding_window_log::SlidingWindowLog;
use crate::algorithm::tally::Tally;
use crate::time::nanos;

pub use error::LimitError;

/// `quota` units per `window`, kept as that pair: nothing is lost for rates that do not divide a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    quota: NonZeroU64,
    window_ns: NonZeroU64,
}

impl Rate {
    /// `quota` units per `window`.
    ///
    /// # Errors
    /// [`LimitError::ZeroQuota`], [`LimitError::ZeroWindow`] and [`LimitError::WindowTooLong`] (above 292 years).
    pub fn new(quota: u64, window: Duration) -> Result<Self, LimitError> {
        let quota = NonZeroU64::new(quota).ok_or(LimitError::ZeroQuota)?;
        let window_ns = NonZeroU64::new(nanos(window)).ok_or(LimitError::ZeroWindow)?;
        if window_ns.get() > MAX_SPAN_NS {
            return Err(LimitError::WindowTooLong);
        }
        Ok(Self { quota, window_ns })
    }

    /// Units per window.
    pub const fn quota(self) -> u64 {
        self.quota.get()
    }

    /// The window.
    pub const fn window(self) -> Duration {
        Duration::from_nanos(self.window_ns.get())
    }

    pub(crate) const fn window_ns(self) -> u64 {
        self.window_ns.get()
    }
}

/// The longest time a limit may take from empty to full: the half of `u64` nanoseconds that [`crate::Timestamp`] leaves free.
pub(crate) const MAX_SPAN_NS: u64 = i64::MAX as u64;

/// What is allowed: an algorithm with its numbers. Cheap to share, expensive to build: build it once, at load.
///
/// State holds no limit, so a changed one counts from the next request, for old keys too. It never admits more than its own
/// bound, and a spending of which the state no longer tells the moment counts as the latest it can have been. A bucket that
/// owes more than the changed limit can have lent lets one request pass and is empty then. A changed algorithm begins anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    algorithm: Algorithm,
    shape: Shape,
    cautious: bool,
}

/// The algorithms, by the names they have in policy files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A bucket of `burst` units, refilled evenly at the rate.
    TokenBucket,
    /// A token bucket whose customers wait, up to a longest wait.
    LeakyBucket,
    /// At most `quota` in each aligned window.
    FixedWindow,
    /// At most `quota` in a moving window, counted from two fixed ones.
    SlidingWindow,
    /// At most `quota` in every window, exactly, at the price of remembering each.
    SlidingWindowLog,
    /// At most so many at one time.
    Concurrency,
}

impl Algorithm {
    /// The name in policy files, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingWindowLog => "sliding_window_log",
            Self::Concurrency => "concurrency",
        }
    }
}

/// The numbers an algorithm decides with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// State is one moment.
    Bucket(Bucket),
    /// State is a [`crate::algorithm::state::State`].
    Tally(Tally),
}

impl Limit {
    /// A bucket of `burst` units, full at first, refilled evenly at `rate`; a request that finds too little is refused.
    ///
    /// Bound: no span of length t, both ends included, admits more than `burst + rate × (t + 2 ns)`: moments are whole
    /// nanoseconds, and one of them may be counted up to a nanosecond early or late. That does not add up: over any time,
    /// exactly the rate is admitted.
    ///
    /// # Errors
    /// [`LimitError::ZeroBurst`], [`LimitError::TooFast`] and [`LimitError::SpanTooLong`].
    pub fn token_bucket(rate: Rate, burst: u64) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::TokenBucket,
            shape: Shape::Bucket(Bucket::new(rate, burst, Duration::ZERO)?),
            cautious: false,
        })
    }

    /// A token bucket whose customers wait instead of being refused, as long as the wait is at most `max_delay`.
    ///
    /// `burst` is what may pass without waiting; 1 spaces every request. The wait is in the answer
    /// ([`crate::Outcome::Allow`]), the waiting is the door's. Bound: as the token bucket's, on the moments of release.
    ///
    /// # Errors
    /// As [`Limit::token_bucket`].
    pub fn leaky_bucket(rate: Rate, burst: u64, max_delay: Duration) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::LeakyBucket,
            shape: Shape::Bucket(Bucket::new(rate, burst, max_delay)?),
            cautious: false,
        })
    }

    /// At most `quota` units in each window; windows follow each other from the epoch on.
    ///
    /// Bound: `quota` in each window, so up to twice that in a window's length that spans the end of one.
    pub const fn fixed_window(rate: Rate) -> Self {
        Self::tally(
            Algorithm::FixedWindow,
            Tally::FixedWindow(FixedWindow::even(rate)),
        )
    }

    /// At most `quota` units in each day, week (from Monday) or month of the time zone `zone`, an IANA name such as
    /// `Europe/Berlin`, looked up in the database that is built in.
    ///
    /// A day on which clocks change has 23 or 25 hours. Bound: as of [`Limit::fixed_window`].
    ///
    /// # Errors
    /// [`LimitError::ZeroQuota`] and [`LimitError::UnknownTimeZone`].
    #[cfg(feature = "calendar")]
    pub fn calendar_window(quota: u64, unit: CalendarUnit, zone: &str) -> Result<Self, LimitError> {
        if quota == 0 {
            return Err(LimitError::ZeroQuota);
        }
        let window = FixedWindow::calendar(quota, Calendar::new(unit, zone)?);
        Ok(Self::tally(Algorithm::FixedWindow, Tally::FixedWindow(window)))
    }

    /// At most `quota` units in a moving window, estimated from two fixed ones: of the previous window as much counts as
    /// the moving one still covers, as if its units had come evenly.
    ///
    /// Bound: less than `2 × quota` in a window's length, whatever a client does; one that comes evenly is held to `quota`.
    pub const fn sliding_window(rate: Rate) -> Self {
        Self::tally(
            Algorithm::SlidingWindow,
            Tally::SlidingWindow(SlidingWindow::new(rate)),
        )
    }

    /// At most `quota` units in every window, wherever it begins, at the price of remembering each spending.
    ///
    /// Bound: `quota` in every span of a window's length, its last moment left out.
    ///
    /// # Errors
    /// [`LimitError::LogTooLong`]: `quota` is above [`crate::MAX_LOG_QUOTA`].
    pub const fn sliding_window_log(rate: Rate) -> Result<Self, LimitError> {
        match SlidingWindowLog::new(rate) {
            Ok(log) => Ok(Self::tally(
                Algorithm::SlidingWindowLog,
                Tally::SlidingWindowLog(log),
            )),
            Err(error) => Err(error),
        }
    }

    /// At most `slots` units in use at one time. Each is in use until it is released, and for `ttl` at most.
    ///
    /// Choose a `ttl` above the longest request: a slot whose time is over is free although its holder may still be busy.
    ///
    /// # Errors
    /// [`LimitError::ZeroSlots`], [`LimitError::TooManySlots`] (above [`crate::MAX_SLOTS`]), [`LimitError::ZeroTtl`] and
    /// [`LimitError::TtlTooLong`].
    pub fn concurrency(slots: u64, ttl: Duration) -> Result<Self, LimitError> {
        let concurrency = Concurrency::new(slots, ttl)?;
        Ok(Self::tally(
            Algorithm::Concurrency,
            Tally::Concurrency(concurrency),
        ))
    }

    /// The same limit, taken to be used up where a store may have forgotten spendings (a master that failed before all it wrote was
    /// copied): better too few than too many. A store that forgets nothing does not look at it.
    #[must_use]
    pub const fn cautious(mut self) -> Self {
        self.cautious = true;
        self
    }

    /// Whether it is [`Limit::cautious`].
    pub const fn is_cautious(&self) -> bool {
        self.cautious
    }

    /// Which algorithm decides.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The most that one request can spend when nothing has been spent: `burst` of a bucket, else the quota.
    pub fn capacity(&self) -> u64 {
        match &self.shape {
            Shape::Bucket(bucket) => bucket.burst(),
            Shape::Tally(tally) => tally.capacity(),
        }
    }

    /// Units per window; the slots of a concurrency limit.
    pub fn quota(&self) -> u64 {
        match &self.shape {
            Shape::Bucket(bucket) => bucket.rate().quota(),
            Shape::Tally(tally) => tally.capacity(),
        }
    }

    /// The window, where it has one length: not for calendar windows and concurrency.
    pub fn window(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Bucket(bucket) => Some(bucket.rate().window()),
            Shape::Tally(Tally::FixedWindow(fixed)) => match fixed.grid() {
                Grid::Even { window_ns } => Some(Duration::from_nanos(*window_ns)),
                #[cfg(feature = "calendar")]
                Grid::Calendar(_) => None,
            },
            Shape::Tally(Tally::SlidingWindow(sliding)) => Some(sliding.rate().window()),
            Shape::Tally(Tally::SlidingWindowLog(log)) => Some(log.rate().window()),
            Shape::Tally(Tally::Concurrency(_)) => None,
        }
    }

    /// What may pass at once, of a token or leaky bucket.
    pub fn burst(&self) -> Option<u64> {
        match &self.shape {
            Shape::Bucket(bucket) => Some(bucket.burst()),
            Shape::Tally(_) => None,
        }
    }

    /// The longest wait of a leaky bucket.
    pub fn max_delay(&self) -> Option<Duration> {
        match (&self.shape, self.algorithm) {
            (Shape::Bucket(bucket), Algorithm::LeakyBucket) => Some(bucket.max_delay()),
            _ => None,
        }
    }

    /// How long a slot of a concurrency limit lives at most.
    pub fn ttl(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Tally(Tally::Concurrency(concurrency)) => Some(concurrency.ttl()),
            _ => None,
        }
    }

    /// The unit and the time zone of a calendar window.
    #[cfg(feature = "calendar")]
    pub fn calendar(&self) -> Option<(CalendarUnit, &str)> {
        let Shape::Tally(Tally::FixedWindow(fixed)) = &self.shape else {
            return None;
        };
        match fixed.grid() {
            Grid::Calendar(calendar) => Some((calendar.unit(), calendar.zone())),
            Grid::Even { .. } => None,
        }
    }

    /// The aligned window of a fixed window that holds `at`: for stores that count elsewhere, and cannot know a calendar there.
    pub fn window_at(&self, at: Timestamp) -> Option<Range<Timestamp>> {
        let Shape::Tally(Tally::FixedWindow(fixed)) = &self.shape else {
            return None;
        };
        let Span { start, end } = fixed.grid().span(at.as_nanos());
        Some(Timestamp::from_nanos(start)..Timestamp::from_nanos(end))
    }

    const fn tally(algorithm: Algorithm, tally: Tally) -> Self {
        Self {
            algorithm,
            shape: Shape::Tally(tally),
            cautious: false,
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}
