//! One limit, as typed.

use std::time::Duration;

use tidegate_core::{Algorithm, CalendarUnit, Limit, LimitError, Rate};

use super::fields::Fields;
use super::node::{Node, Place, Spanned, Value};
use super::report::{Report, quoted};
use super::scalar;

/// One limit, as typed.
#[derive(Debug)]
pub(crate) struct LimitText {
    pub(crate) at: Place,
    /// Fields that are written and wrong in themselves, which has been reported, and where.
    pub(crate) wrong: Vec<(&'static str, Place)>,
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
    /// A limit, each field judged by what it says alone. Whether they fit together is seen when they are compiled.
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a limit", report)?;
        let mut wrong = Vec::new();
        macro_rules! field {
            ($name:literal, $read:expr) => {{
                let node = fields.take($name);
                let value = node.and_then(|node| $read(node, report));
                if let (Some(node), None) = (node, &value) {
                    wrong.push(($name, node.at));
                }
                value
            }};
        }
        let limit = Self {
            at: node.at,
            algorithm: field!("algorithm", algorithm),
            quota: field!("quota", quota),
            window: field!("window", window),
            time_zone: field!("time_zone", time_zone),
            burst: field!("burst", burst),
            max_delay: field!("max_delay", max_delay),
            slots: field!("slots", slots),
            ttl: field!("ttl", ttl),
            wrong,
        };
        fields.finish(report);
        Some(limit)
    }

    /// Whether the field `name` is written and wrong in itself.
    pub(crate) fn is_wrong(&self, name: &str) -> bool {
        self.wrong.iter().any(|(wrong, _)| *wrong == name)
    }

    /// Where the value of the field `name` stands, be it right or wrong.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        let number = |field: &Option<Spanned<u64>>| field.as_ref().map(|field| field.at);
        let span = |field: &Option<Spanned<Duration>>| field.as_ref().map(|field| field.at);
        let right = match name {
            "quota" => number(&self.quota),
            "window" => self.window.as_ref().map(WindowText::at),
            "time_zone" => self.time_zone.as_ref().map(|zone| zone.at),
            "burst" => number(&self.burst),
            "max_delay" => span(&self.max_delay),
            "slots" => number(&self.slots),
            "ttl" => span(&self.ttl),
            _ => None,
        };
        let wrong = || self.wrong.iter().find(|(wrong, _)| *wrong == name);
        right.or_else(|| wrong().map(|(_, at)| *at))
    }
}

/// What a limit is tried with beside the one field that is looked at.
pub(crate) const ANY_SPAN: Duration = Duration::from_secs(1);

/// The fastest rate there is: whatever cannot be held under it cannot be held at all.
fn fastest() -> Result<Rate, LimitError> {
    Rate::new(1_000_000_000, ANY_SPAN)
}

fn quota(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    let quota = scalar::integer(node, report)?;
    sound(quota, |quota| Rate::new(quota, ANY_SPAN), report)
}

fn burst(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    let burst = scalar::integer(node, report)?;
    sound(burst, |burst| Limit::token_bucket(fastest()?, burst), report)
}

fn max_delay(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Duration>> {
    let delay = scalar::duration(node, report)?;
    if fastest()
        .and_then(|rate| Limit::leaky_bucket(rate, 1, delay.value))
        .is_err()
    {
        report.error(node.at, "nobody waits so long", "write at most 292 years");
        return None;
    }
    Some(delay)
}

fn slots(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    let slots = scalar::integer(node, report)?;
    sound(slots, |slots| Limit::concurrency(slots, ANY_SPAN), report)
}

fn ttl(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Duration>> {
    let ttl = scalar::duration(node, report)?;
    sound(ttl, |ttl| Limit::concurrency(1, ttl), report)
}

/// An IANA name that the bundled database knows.
pub(crate) fn time_zone(node: &Node, report: &mut Report<'_>) -> Option<Spanned<String>> {
    let zone = scalar::text(node, report)?;
    if Limit::calendar_window(1, CalendarUnit::Day, &zone.value).is_err() {
        let message = format!("there is no time zone {}", quoted(&zone.value));
        report.error(node.at, message, "write an IANA name, such as `Europe/Berlin`");
        return None;
    }
    Some(zone)
}

/// `field`, if a limit with nothing else to object to `holds` it.
fn sound<T: Copy, L>(
    field: Spanned<T>,
    holds: impl FnOnce(T) -> Result<L, LimitError>,
    report: &mut Report<'_>,
) -> Option<Spanned<T>> {
    match holds(field.value) {
        Ok(_) => Some(field),
        Err(error) => {
            cannot_be_held(field.at, error, report);
            None
        }
    }
}

/// Reports that core refused a limit because of what stands at `at`.
pub(crate) fn cannot_be_held(at: Place, error: LimitError, report: &mut Report<'_>) {
    report.error(at, "this limit cannot be held", error.to_string());
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
        _ => {
            let span = scalar::duration(node, report)?;
            sound(span, |span| Rate::new(1, span), report).map(WindowText::Span)
        }
    }
}

fn calendar(node: &Node, report: &mut Report<'_>) -> Option<WindowText> {
    let mut fields = Fields::of(node, "a window", report)?;
    let unit = fields.require("calendar", "day", report);
    let unit = unit.and_then(|unit| scalar::choice(unit, &CALENDAR_UNITS, report));
    let zone = fields.read("time_zone", report, time_zone);
    fields.finish(report);
    Some(WindowText::Calendar(unit?, zone))
}
