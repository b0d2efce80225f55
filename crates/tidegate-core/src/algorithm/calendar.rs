//! Windows that follow the calendar of a time zone: days, weeks that begin on Monday, months.

mod last_span;

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Span as Days, Timestamp as Instant};

use self::last_span::LastSpan;
use super::fixed_window::Span;
use crate::limit::LimitError;

/// A window of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalendarUnit {
    /// From midnight to midnight: 23 or 25 hours where the clocks change.
    Day,
    /// From Monday to Monday (ISO 8601).
    Week,
    /// From the first to the first.
    Month,
}

impl CalendarUnit {
    /// The name in policy files, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    fn first_day(self, date: Date) -> Date {
        match self {
            Self::Day => date,
            Self::Week => date.saturating_sub(days(date.weekday().to_monday_zero_offset())),
            Self::Month => date.first_of_month(),
        }
    }

    fn first_day_of_next(self, date: Date) -> Date {
        let first = self.first_day(date);
        match self {
            Self::Day => first.saturating_add(days(1)),
            Self::Week => first.saturating_add(days(7)),
            Self::Month => first.saturating_add(days(first.days_in_month())),
        }
    }
}

fn days(count: i8) -> Days {
    Days::new().days(count)
}

/// A calendar unit in a time zone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calendar {
    unit: CalendarUnit,
    zone: TimeZone,
    last: LastSpan,
}

impl Calendar {
    /// # Errors
    /// [`LimitError::UnknownTimeZone`] if the bundled database has no such zone.
    pub(crate) fn new(unit: CalendarUnit, zone: &str) -> Result<Self, LimitError> {
        let zone = TimeZoneDatabase::bundled()
            .get(zone)
            .map_err(|_| LimitError::UnknownTimeZone)?;
        Ok(Self {
            unit,
            zone,
            last: LastSpan::default(),
        })
    }

    pub(crate) const fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// The zone's name in the database.
    pub(crate) fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The window that holds `at`.
    pub(crate) fn span(&self, at: u64) -> Span {
        self.last.holding(at).unwrap_or_else(|| {
            let span = self.look_up(at);
            self.last.remember(span);
            span
        })
    }

    fn look_up(&self, at: u64) -> Span {
        let instant = Instant::from_nanosecond(i128::from(at)).unwrap_or(Instant::MAX);
        let date = self.zone.to_datetime(instant).date();
        let start = self.midnight(self.unit.first_day(date));
        let next = self.unit.first_day_of_next(date);
        let end = self.midnight(next);
        if at < end {
            return Span { start, end };
        }
        // Clocks were set back over midnight: the date is that of yesterday again, but today has begun.
        Span {
            start: end,
            end: self.midnight(self.unit.first_day_of_next(next)),
        }
    }

    /// The moment at which `date` begins: its first midnight, or, where clocks skip midnight, the moment they do.
    ///
    /// That is exact where clocks are moved forward at midnight, as everywhere since 1970 where they skip it.
    fn midnight(&self, date: Date) -> u64 {
        let midnight = self.zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0));
        let Ok(instant) = midnight.compatible() else {
            return i64::MAX as u64;
        };
        u64::try_from(instant.as_nanosecond()).unwrap_or(if instant < Instant::UNIX_EPOCH {
            0
        } else {
            u64::MAX
        })
    }
}
