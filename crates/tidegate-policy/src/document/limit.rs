//! One limit, as typed.

use std::time::Duration;

use tidegate_core::{Algorithm, CalendarUnit};

use super::fields::Fields;
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;

/// One limit, as typed.
#[derive(Debug)]
pub(crate) struct LimitText {
    pub(crate) at: Place,
    /// Some of its fields could not be read, which has been reported: nothing else need be said about it.
    pub(crate) spoilt: bool,
    pub(crate) algorithm: Option<Spanned<Algorithm>>,
    pub(crate) quota: Option<Spanned<u64>>,
    pub(crate) window: Option<WindowText>,
    pub(crate) time_zone: Option<Spanned<String>>,
    pub(crate) burst: Option<Spanned<u64>>,
    pub(crate) max_delay: Option<Spanned<Duration>>,
    pub(crate) slots: Option<Spanned<u64>>,
    pub(crate) ttl: Option<Spanned<Duration>>,
}

/// The window of a limit, as typed.
#[derive(Debug)]
pub(crate) enum WindowText {
    /// `1m`.
    Span(Spanned<Duration>),
    /// `day`, or `{ calendar: day, time_zone: Europe/Berlin }`.
    Calendar(Spanned<CalendarUnit>, Option<Spanned<String>>),
}

impl WindowText {
    pub(crate) fn at(&self) -> Place {
        match self {
            Self::Span(span) => span.at,
            Self::Calendar(unit, _) => unit.at,
        }
    }
}

const CALENDAR_UNITS: [(&str, CalendarUnit); 3] = [
    (CalendarUnit::Day.name(), CalendarUnit::Day),
    (CalendarUnit::Week.name(), CalendarUnit::Week),
    (CalendarUnit::Month.name(), CalendarUnit::Month),
];

impl LimitText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a limit", report)?;
        let mut wanted = 0;
        let mut read = 0;
        let mut count = |is_there: bool, was_read: bool| {
            wanted += usize::from(is_there);
            read += usize::from(was_read);
        };
        macro_rules! field {
            ($name:literal, $read:expr) => {{
                let node = fields.take($name);
                let value = node.and_then(|node| $read(node, report));
                count(node.is_some(), value.is_some());
                value
            }};
        }
        let mut limit = Self {
            at: node.at,
            spoilt: false,
            algorithm: field!("algorithm", algorithm),
            quota: field!("quota", scalar::integer),
            window: field!("window", window),
            time_zone: field!("time_zone", scalar::text),
            burst: field!("burst", scalar::integer),
            max_delay: field!("max_delay", scalar::duration),
            slots: field!("slots", scalar::integer),
            ttl: field!("ttl", scalar::duration),
        };
        limit.spoilt = read < wanted;
        fields.finish(report);
        Some(limit)
    }
}

fn algorithm(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Algorithm>> {
    let words = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingWindow,
        Algorithm::SlidingWindowLog,
        Algorithm::Concurrency,
    ]
    .map(|algorithm| (algorithm.name(), algorithm));
    scalar::choice(node, &words, report)
}

fn window(node: &Node, report: &mut Report<'_>) -> Option<WindowText> {
    match &node.value {
        Value::Map(_) => calendar(node, report),
        Value::Text(text) if text.chars().all(char::is_alphabetic) => {
            let unit = scalar::choice(node, &CALENDAR_UNITS, report)?;
            Some(WindowText::Calendar(unit, None))
        }
        _ => scalar::duration(node, report).map(WindowText::Span),
    }
}

fn calendar(node: &Node, report: &mut Report<'_>) -> Option<WindowText> {
    let mut fields = Fields::of(node, "a window", report)?;
    let unit = fields.require("calendar", "day", report);
    let unit = unit.and_then(|unit| scalar::choice(unit, &CALENDAR_UNITS, report));
    let time_zone = fields.read("time_zone", report, scalar::text);
    fields.finish(report);
    Some(WindowText::Calendar(unit?, time_zone))
}
