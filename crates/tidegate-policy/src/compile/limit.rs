//! What one limit means: an algorithm, and the fields that it takes.

use std::time::Duration;

use tidegate_core::{Algorithm, CalendarUnit, Limit, LimitError, Rate};

use crate::document::limit::{LimitText, WindowText};
use crate::document::node::{Place, Spanned};
use crate::document::report::Report;

/// When a slot that nobody gave back becomes free, unless the file says otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(5 * 60);

/// The zone of calendar windows, unless the file names one.
const DEFAULT_ZONE: &str = "UTC";

/// The limit that `text` describes. None, after an error, if it describes none.
pub(super) fn limit(text: &LimitText, report: &mut Report<'_>) -> Option<Limit> {
    let algorithm = text
        .algorithm
        .as_ref()
        .map_or(Algorithm::TokenBucket, |algorithm| algorithm.value);
    let fits = refuse_foreign_fields(text, algorithm, report);
    if text.spoilt || !fits {
        return None;
    }
    match algorithm {
        Algorithm::TokenBucket => {
            let rate = rate(text, report)?;
            let burst = text.burst.as_ref().map_or(rate.quota(), |burst| burst.value);
            built(Limit::token_bucket(rate, burst), text, report)
        }
        Algorithm::LeakyBucket => {
            let rate = rate(text, report);
            let max_delay = required(text.max_delay.as_ref(), "max_delay: 2s", text.at, report)?;
            let burst = text.burst.as_ref().map_or(1, |burst| burst.value);
            built(Limit::leaky_bucket(rate?, burst, max_delay), text, report)
        }
        Algorithm::FixedWindow => fixed_window(text, report),
        Algorithm::SlidingWindow => rate(text, report).map(Limit::sliding_window),
        Algorithm::SlidingWindowLog => {
            let rate = rate(text, report)?;
            built(Limit::sliding_window_log(rate), text, report)
        }
        Algorithm::Concurrency => {
            let slots = required(text.slots.as_ref(), "slots: 20", text.at, report)?;
            let ttl = text.ttl.as_ref().map_or(DEFAULT_TTL, |ttl| ttl.value);
            built(Limit::concurrency(slots, ttl), text, report)
        }
    }
}

fn fixed_window(text: &LimitText, report: &mut Report<'_>) -> Option<Limit> {
    let Some(WindowText::Calendar(unit, zone)) = &text.window else {
        return rate(text, report).map(Limit::fixed_window);
    };
    let quota = required(text.quota.as_ref(), "quota: 1000", text.at, report)?;
    let zone = zone.as_ref().or(text.time_zone.as_ref());
    calendar_window(quota, unit.value, zone, text, report)
}

fn calendar_window(
    quota: u64,
    unit: CalendarUnit,
    zone: Option<&Spanned<String>>,
    text: &LimitText,
    report: &mut Report<'_>,
) -> Option<Limit> {
    let name = zone.map_or(DEFAULT_ZONE, |zone| &zone.value);
    match Limit::calendar_window(quota, unit, name) {
        Err(LimitError::UnknownTimeZone) => {
            let at = zone.map_or(text.at, |zone| zone.at);
            report.error(
                at,
                format!("there is no time zone `{name}`"),
                "write an IANA name, such as `Europe/Berlin`",
            );
            None
        }
        limit => built(limit, text, report),
    }
}

fn rate(text: &LimitText, report: &mut Report<'_>) -> Option<Rate> {
    let quota = required(text.quota.as_ref(), "quota: 60", text.at, report);
    let window = match &text.window {
        Some(WindowText::Span(span)) => Some(span.value),
        Some(WindowText::Calendar(unit, _)) => {
            let message = "only a fixed_window follows the calendar";
            report.error(
                unit.at,
                message,
                "write a span such as `24h`, or `algorithm: fixed_window`",
            );
            None
        }
        None => required(None, "window: 1m", text.at, report),
    };
    let rate = Rate::new(quota?, window?);
    built(rate, text, report)
}

/// Every field that says nothing to `algorithm` is an error. Whether there was none.
fn refuse_foreign_fields(text: &LimitText, algorithm: Algorithm, report: &mut Report<'_>) -> bool {
    use Algorithm::{Concurrency, FixedWindow, LeakyBucket, TokenBucket};
    let is_rate = algorithm != Concurrency;
    let is_bucket = matches!(algorithm, TokenBucket | LeakyBucket);
    let place = |field: &Option<Spanned<u64>>| field.as_ref().map(|field| field.at);
    let span = |field: &Option<Spanned<Duration>>| field.as_ref().map(|field| field.at);
    let zone = text.time_zone.as_ref().map(|zone| zone.at);
    let fields = [
        ("quota", place(&text.quota), is_rate),
        ("window", text.window.as_ref().map(WindowText::at), is_rate),
        ("time_zone", zone, algorithm == FixedWindow),
        ("burst", place(&text.burst), is_bucket),
        ("max_delay", span(&text.max_delay), algorithm == LeakyBucket),
        ("slots", place(&text.slots), !is_rate),
        ("ttl", span(&text.ttl), !is_rate),
    ];
    let mut fits = true;
    for (name, at, is_its_own) in fields {
        if let (Some(at), false) = (at, is_its_own) {
            let message = format!("`{name}` says nothing to the algorithm `{}`", algorithm.name());
            report.error(at, message, foreign_cure(name));
            fits = false;
        }
    }
    if let (Some(at), FixedWindow) = (zone, algorithm)
        && !matches!(text.window, Some(WindowText::Calendar(_, None)))
    {
        let message = "`time_zone` belongs to a calendar window";
        report.error(
            at,
            message,
            "write `window: day`, `week` or `month`, or remove it",
        );
        fits = false;
    }
    fits
}

fn foreign_cure(name: &str) -> &'static str {
    match name {
        "burst" => "remove it: only buckets have a burst",
        "max_delay" => "remove it, or write `algorithm: leaky_bucket`",
        "slots" | "ttl" => "remove it, or write `algorithm: concurrency`",
        "time_zone" => "remove it, or write `algorithm: fixed_window` with `window: day`",
        _ => "remove it: a concurrency limit has `slots` and `ttl`",
    }
}

fn required<T: Copy>(
    field: Option<&Spanned<T>>,
    example: &str,
    at: Place,
    report: &mut Report<'_>,
) -> Option<T> {
    if field.is_none() {
        let name = example.split(':').next().unwrap_or(example);
        report.error(
            at,
            format!("this limit has no `{name}`"),
            format!("add `{example}`"),
        );
    }
    field.map(|field| field.value)
}

/// What core built, or its reason not to, at the field that it is about.
fn built<T>(result: Result<T, LimitError>, text: &LimitText, report: &mut Report<'_>) -> Option<T> {
    let error = match result {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    let quota = text.quota.as_ref().map(|quota| quota.at);
    let window = text.window.as_ref().map(WindowText::at);
    let burst = text.burst.as_ref().map(|burst| burst.at);
    let slots = text.slots.as_ref().map(|slots| slots.at);
    let ttl = text.ttl.as_ref().map(|ttl| ttl.at);
    let at = match error {
        LimitError::ZeroQuota | LimitError::TooFast | LimitError::LogTooLong => quota,
        LimitError::ZeroWindow | LimitError::WindowTooLong => window,
        LimitError::ZeroBurst | LimitError::SpanTooLong => burst.or(window),
        LimitError::ZeroSlots | LimitError::TooManySlots => slots,
        LimitError::ZeroTtl | LimitError::TtlTooLong => ttl,
        _ => None,
    };
    report.error(
        at.unwrap_or(text.at),
        "this limit cannot be held",
        error.to_string(),
    );
    None
}
