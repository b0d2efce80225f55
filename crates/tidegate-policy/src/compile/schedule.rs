//! What `schedule` means, and how it is said.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::limit::DEFAULT_ZONE;
use crate::document::node::Spanned;
use crate::document::schedule::{DAYS, SpanText};
use crate::schedule::{Hours, Schedule, Span, Weekdays};

const WHOLE_DAY: Hours = Hours { from: 0, to: 24 * 60 };

pub(super) fn schedule(texts: &[SpanText]) -> Schedule {
    Schedule::new(texts.iter().flat_map(spans).collect())
}

/// A span for each of the hours.
fn spans(text: &SpanText) -> Vec<Span> {
    let zone = text.time_zone.as_ref().map_or(DEFAULT_ZONE, |zone| &zone.value);
    // The name was looked up when it was read.
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap_or(TimeZone::UTC);
    let days = match &text.days {
        None => Weekdays::ALL,
        Some(days) => days.iter().fold(Weekdays::NONE, |set, day| set.with(day.value)),
    };
    let hours = match &text.hours {
        None => vec![WHOLE_DAY],
        Some(hours) => hours.iter().map(|hours| hours.value).collect(),
    };
    let span = |hours| Span {
        days,
        hours,
        zone: zone.clone(),
    };
    hours.into_iter().map(span).collect()
}

/// `texts` in words: `mon, tue 08:00-18:00 (Europe/Berlin) or sat (UTC)`.
pub(super) fn in_words(texts: &[SpanText]) -> String {
    let spans: Vec<String> = texts.iter().map(span_in_words).collect();
    spans.join(" or ")
}

fn span_in_words(text: &SpanText) -> String {
    let mut words = Vec::new();
    if let Some(days) = &text.days {
        let has = |day| days.iter().any(|own: &Spanned<_>| own.value == day);
        let names = DAYS.iter().filter(|(_, day)| has(*day)).map(|(name, _)| *name);
        words.push(names.collect::<Vec<_>>().join(", "));
    }
    if let Some(hours) = &text.hours {
        let hours: Vec<String> = hours.iter().map(|hours| clock(hours.value)).collect();
        words.push(hours.join(", "));
    }
    let zone = text.time_zone.as_ref().map_or(DEFAULT_ZONE, |zone| &zone.value);
    words.push(format!("({zone})"));
    words.join(" ")
}

fn clock(hours: Hours) -> String {
    let time = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    format!("{}-{}", time(hours.from), time(hours.to))
}
