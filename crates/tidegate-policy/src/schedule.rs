//! When a policy speaks: days and hours of a time zone.

mod cache;
#[cfg(test)]
mod tests;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span as Days, Timestamp as Instant};
use tidegate_core::Timestamp;

use cache::{Cache, Known};

/// When a policy speaks. Where several spans are written, each of them opens it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) spans: Vec<Span>,
    /// What is known of the time around the last look.
    cache: Cache,
}

/// The same hours on each of some days.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) days: Weekdays,
    pub(crate) hours: Hours,
    pub(crate) zone: TimeZone,
}

/// A set of days of the week; bit 0 is Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weekdays(u8);

/// From one time of the day to another, in minutes after midnight. One that ends before it begins ends on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hours {
    /// 0 to 1439.
    pub(crate) from: u16,
    /// 0 to 1440, and not `from`.
    pub(crate) to: u16,
}

/// The most spans of a schedule.
pub(crate) const MAX_SPANS: usize = 64;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// How far the next change is looked for, in days: every span comes round within a week.
const HORIZON: i32 = 8;

impl Schedule {
    pub(crate) fn new(spans: Vec<Span>) -> Self {
        Self {
            spans,
            cache: Cache::default(),
        }
    }

    /// Whether it is open at `now`. Between two changes that is one look at a number.
    pub(crate) fn is_open(&self, now: Timestamp) -> bool {
        self.cache.at(now).unwrap_or_else(|| {
            let known = self.look_up(now);
            self.cache.remember(known);
            known.open
        })
    }

    /// Whether it is open at `now`, and since and until when that is known.
    fn look_up(&self, now: Timestamp) -> Known {
        let mut known = Known {
            open: false,
            from: now,
            until: Timestamp::MAX,
        };
        let instant = Instant::from_nanosecond(i128::from(now.as_nanos())).unwrap_or(Instant::MAX);
        for span in &self.spans {
            let today = span.zone.to_datetime(instant).date();
            let from = today.saturating_sub(Days::new().days(1));
            for day in 0..=HORIZON {
                let Some((start, end)) = span.on(from.saturating_add(Days::new().days(day))) else {
                    continue;
                };
                known.open |= start <= now && now < end;
                for change in [start, end] {
                    if change > now {
                        known.until = known.until.min(change);
                    }
                }
            }
        }
        known
    }
}

impl Span {
    /// When it begins on `date` and when it ends, if it does. A time that clocks skip is the moment they do it; one that
    /// comes twice is the first.
    fn on(&self, date: Date) -> Option<(Timestamp, Timestamp)> {
        if !self.days.has(date.weekday()) {
            return None;
        }
        let start = self.moment(date, self.hours.from);
        let next_day = self.hours.to <= self.hours.from;
        let end_date = date.saturating_add(Days::new().days(i32::from(next_day)));
        let end = self.moment(end_date, self.hours.to);
        (start < end).then_some((start, end))
    }

    /// The moment `minutes` after midnight of `date`, by the clocks of the zone.
    fn moment(&self, date: Date, minutes: u16) -> Timestamp {
        let (date, minutes) = match minutes {
            DAY.. => (date.saturating_add(Days::new().days(1)), 0),
            minutes => (date, minutes),
        };
        let (hour, minute) = (minutes / 60, minutes % 60);
        let time = jiff::civil::time(narrow(hour), narrow(minute), 0, 0);
        let ambiguous = self.zone.to_ambiguous_timestamp(date.to_datetime(time));
        let before_gap = ambiguous.offset();
        let Ok(instant) = ambiguous.compatible() else {
            return Timestamp::MAX;
        };
        let instant = match before_gap {
            jiff::tz::AmbiguousOffset::Gap { .. } => self.gap_before(instant),
            _ => instant,
        };
        Timestamp::from_nanos(u64::try_from(instant.as_nanosecond().max(0)).unwrap_or(u64::MAX))
    }

    /// The moment at which clocks made the jump over a time that would have been `after`.
    fn gap_before(&self, after: Instant) -> Instant {
        let jump = self.zone.preceding(after).next();
        jump.map_or(after, |jump| jump.timestamp())
    }
}

/// Hours and minutes of a day, as jiff takes them.
fn narrow(number: u16) -> i8 {
    i8::try_from(number).unwrap_or(0)
}

impl Weekdays {
    pub(crate) const ALL: Self = Self(0x7f);
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn with(self, day: Weekday) -> Self {
        Self(self.0 | 1 << day.to_monday_zero_offset())
    }

    pub(crate) fn has(self, day: Weekday) -> bool {
        self.0 & 1 << day.to_monday_zero_offset() != 0
    }
}
