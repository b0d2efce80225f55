//! What is allowed. An illegal limit cannot be built.

use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

use crate::algorithm::bucket::Bucket;
use crate::time::nanos;

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
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    algorithm: Algorithm,
    shape: Shape,
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
    Bucket(Bucket),
}

impl Limit {
    /// A bucket of `burst` units, full at first, refilled evenly at `rate`; a request that finds too little is refused.
    ///
    /// Bound: no span of length t admits more than `burst + rate × t`, moments being whole nanoseconds.
    ///
    /// # Errors
    /// [`LimitError::ZeroBurst`], [`LimitError::TooFast`] and [`LimitError::SpanTooLong`].
    pub fn token_bucket(rate: Rate, burst: u64) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::TokenBucket,
            shape: Shape::Bucket(Bucket::new(rate, burst, Duration::ZERO)?),
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
        })
    }

    /// Which algorithm decides.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The most that one request can spend when nothing has been spent: `burst` of a bucket, else the quota.
    pub fn capacity(&self) -> u64 {
        match &self.shape {
            Shape::Bucket(bucket) => bucket.burst(),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}

/// Why a limit cannot be built. Nothing was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// A quota of 0 admits nothing: say so with a deny rule instead.
    ZeroQuota,
    /// A window of no length.
    ZeroWindow,
    /// A burst of 0 admits nothing.
    ZeroBurst,
    /// A window above 292 years.
    WindowTooLong,
    /// More than one unit per nanosecond, the resolution of time here.
    TooFast,
    /// From empty to full (with the longest wait) takes more than 292 years.
    SpanTooLong,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroQuota => "the quota must be at least 1",
            Self::ZeroWindow => "the window must be longer than 0",
            Self::ZeroBurst => "the burst must be at least 1",
            Self::WindowTooLong => "the window must be at most 292 years",
            Self::TooFast => "the rate must be at most one unit per nanosecond (1000000000 per second)",
            Self::SpanTooLong => {
                "refilling the whole burst must take at most 292 years: lower the burst or the window"
            }
        })
    }
}

impl core::error::Error for LimitError {}
