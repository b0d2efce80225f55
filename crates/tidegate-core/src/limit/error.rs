//! Why a limit cannot be built.

use core::fmt;

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
    /// A sliding window log of more than [`crate::MAX_LOG_QUOTA`] units.
    LogTooLong,
    /// A concurrency limit without slots admits nothing.
    ZeroSlots,
    /// More than [`crate::MAX_SLOTS`] slots.
    TooManySlots,
    /// Slots that are free again at once.
    ZeroTtl,
    /// A time to live above 292 years.
    TtlTooLong,
    /// A time zone that the built-in database does not know.
    #[cfg(feature = "calendar")]
    UnknownTimeZone,
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
            Self::LogTooLong => {
                "a sliding_window_log remembers each unit, so its quota is at most 10000: use sliding_window for more"
            }
            Self::ZeroSlots => "the slots must be at least 1",
            Self::TooManySlots => "the slots must be at most 10000",
            Self::ZeroTtl => "the ttl must be longer than 0",
            Self::TtlTooLong => "the ttl must be at most 292 years",
            #[cfg(feature = "calendar")]
            Self::UnknownTimeZone => "unknown time zone: write an IANA name, such as Europe/Berlin or UTC",
        })
    }
}

impl core::error::Error for LimitError {}
