//! What one limit means: an algorithm, and the fields that it takes.

use std::time::Duration;

use tidegate_core::{Algorithm, Limit, LimitError, Rate};

use crate::document::limit::{ANY_SPAN, LimitText, WindowText, cannot_be_held};
use crate::document::node::Place;
use crate::document::report::Report;

/// When a slot that nobody gave back becomes free, unless the file says otherwise.
const DEFAULT_TTL: Duration = Duration::from_secs(5 * 60);

/// The zone of calendar windows, unless the file names one.
pub(super) const DEFAULT_ZONE: &str = "UTC";

/// The limit that `text` describes. None, after an error, if it describes none.
pub(super) fn limit(text: &LimitText, report: &mut Report<'_>) -> Option<Limit> {
    if text.is_wrong("algorithm") {
        return None;
    }
    let algorithm = text
        .algorithm
        .as_ref()
        .map_or(Algorithm::TokenBucket, |algorithm| algorithm.value);
    let fits = refuse_foreign_fields(text, algorithm, report);
    let is_complete = require_fields(text, algorithm, report);
    let is_bounded = bound_log(text, algorithm, report);
    if !(text.wrong.is_empty() && fits && is_complete && is_bounded) {
        return None;
    }
    match built(text, algorithm) {
        Ok(limit) => limit,
        Err(error) => {
            cannot_be_held(at(error, text), error, report);
            None
        }
    }
}

/// The limit, or what core says against fields that are each right and do not go together. None if one is missing.
fn built(text: &LimitText, algorithm: Algorithm) -> Result<Option<Limit>, LimitError> {
    let burst = text.burst.as_ref().map(|burst| burst.value);
    let limit = match algorithm {
        Algorithm::TokenBucket => {
            rate(text)?.map(|rate| Limit::token_bucket(rate, burst.unwrap_or(rate.quota())))
        }
        Algorithm::LeakyBucket => {
            let max_delay = text.max_delay.as_ref().map(|delay| delay.value);
            let rate = rate(text)?.zip(max_delay);
            rate.map(|(rate, max_delay)| Limit::leaky_bucket(rate, burst.unwrap_or(1), max_delay))
        }
        Algorithm::FixedWindow => fixed_window(text)?.map(Ok),
        Algorithm::SlidingWindow => rate(text)?.map(Limit::sliding_window).map(Ok),
        Algorithm::SlidingWindowLog => rate(text)?.map(Limit::sliding_window_log),
        Algorithm::Concurrency => {
            let ttl = text.ttl.as_ref().map_or(DEFAULT_TTL, |ttl| ttl.value);
            let slots = text.slots.as_ref();
            slots.map(|slots| Limit::concurrency(slots.value, ttl))
        }
    };
    limit.transpose()
}

fn fixed_window(text: &LimitText) -> Result<Option<Limit>, LimitError> {
    let Some(WindowText::Calendar(unit, zone)) = &text.window else {
        return Ok(rate(text)?.map(Limit::fixed_window));
    };
    let zone = zone.as_ref().or(text.time_zone.as_ref());
    let zone = zone.map_or(DEFAULT_ZONE, |zone| &zone.value);
    let quota = text.quota.as_ref();
    quota
        .map(|quota| Limit::calendar_window(quota.value, unit.value, zone))
        .transpose()
}

fn rate(text: &LimitText) -> Result<Option<Rate>, LimitError> {
    let (Some(quota), Some(WindowText::Span(window))) = (&text.quota, &text.window) else {
        return Ok(None);
    };
    Rate::new(quota.value, window.value).map(Some)
}

/// The field that `error`, which is about several, is best shown at.
fn at(error: LimitError, text: &LimitText) -> Place {
    let name = match error {
        LimitError::TooFast => "quota",
        _ => "burst",
    };
    let field = text.place(name).or_else(|| text.place("window"));
    field.unwrap_or(text.at)
}

/// Every field that `algorithm` needs and that is not written is an error. Whether there was none.
fn require_fields(text: &LimitText, algorithm: Algorithm, report: &mut Report<'_>) -> bool {
    let needed: &[(&str, &str)] = match algorithm {
        Algorithm::LeakyBucket => &[("quota", "60"), ("window", "1m"), ("max_delay", "2s")],
        Algorithm::Concurrency => &[("slots", "20")],
        _ => &[("quota", "60"), ("window", "1m")],
    };
    let missing = needed.iter().filter(|(name, _)| text.place(name).is_none());
    missing
        .map(|(name, example)| {
            let message = format!("this limit has no `{name}`");
            report.error(text.at, message, format!("add `{name}: {example}`"));
        })
        .count()
        == 0
}

/// Only a log has a greatest quota, and that whatever its window is. Whether it keeps to it.
fn bound_log(text: &LimitText, algorithm: Algorithm, report: &mut Report<'_>) -> bool {
    let (Some(quota), Algorithm::SlidingWindowLog) = (&text.quota, algorithm) else {
        return true;
    };
    let log = Rate::new(quota.value, ANY_SPAN).and_then(Limit::sliding_window_log);
    if let Err(error) = log {
        cannot_be_held(quota.at, error, report);
    }
    log.is_ok()
}

/// Every field that says nothing to `algorithm` is an error. Whether there was none.
fn refuse_foreign_fields(text: &LimitText, algorithm: Algorithm, report: &mut Report<'_>) -> bool {
    use Algorithm::{Concurrency, FixedWindow, LeakyBucket, TokenBucket};
    let is_rate = algorithm != Concurrency;
    let is_bucket = matches!(algorithm, TokenBucket | LeakyBucket);
    let fields = [
        ("quota", is_rate),
        ("window", is_rate),
        ("time_zone", algorithm == FixedWindow),
        ("burst", is_bucket),
        ("max_delay", algorithm == LeakyBucket),
        ("slots", !is_rate),
        ("ttl", !is_rate),
    ];
    let mut fits = true;
    for (name, is_its_own) in fields {
        if let (Some(at), false) = (text.place(name), is_its_own) {
            let message = format!("`{name}` says nothing to the algorithm `{}`", algorithm.name());
            report.error(at, message, foreign_cure(name));
            fits = false;
        }
    }
    refuse_foreign_calendar(text, algorithm, report) && fits
}

/// The calendar belongs to fixed windows, and a time zone to the calendar. Whether both are where they belong.
fn refuse_foreign_calendar(text: &LimitText, algorithm: Algorithm, report: &mut Report<'_>) -> bool {
    match (&text.window, text.place("time_zone"), algorithm) {
        (Some(WindowText::Calendar(..)), _, Algorithm::Concurrency) => true,
        (Some(WindowText::Calendar(unit, _)), _, algorithm) if algorithm != Algorithm::FixedWindow => {
            let cure = "write a span such as `24h`, or `algorithm: fixed_window`";
            report.error(unit.at, "only a fixed_window follows the calendar", cure);
            false
        }
        (Some(WindowText::Span(_) | WindowText::Calendar(_, Some(_))), Some(at), Algorithm::FixedWindow) => {
            let cure = "write `window: day`, `week` or `month`, or remove it";
            report.error(at, "`time_zone` belongs to a calendar window", cure);
            false
        }
        _ => true,
    }
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
