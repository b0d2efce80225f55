//! When a policy speaks, as typed.

use jiff::civil::Weekday;

use super::fields::{Fields, one_or_many};
use super::node::{Node, Spanned, Value};
use super::report::{Report, quoted};
use super::scalar;
use crate::schedule::{Hours, MAX_SPANS};

/// One item of `schedule`, as typed.
#[derive(Debug)]
pub(crate) struct SpanText {
    /// Every day, if none is written.
    pub(crate) days: Option<Vec<Spanned<Weekday>>>,
    /// The whole day, if none are written.
    pub(crate) hours: Option<Vec<Spanned<Hours>>>,
    pub(crate) time_zone: Option<Spanned<String>>,
}

/// Names of days, Monday first.
pub(crate) const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// One span, or a list of them.
pub(crate) fn schedule(node: &Node, report: &mut Report<'_>) -> Option<Vec<SpanText>> {
    let items = one_or_many(node);
    if items.is_empty() {
        never(node, report);
    }
    if items.len() > MAX_SPANS {
        let message = format!("a schedule has at most {MAX_SPANS} items");
        report.error(node.at, message, "let one item name several days and hours");
    }
    let spans = items.iter().take(MAX_SPANS);
    Some(spans.filter_map(|item| SpanText::read(item, report)).collect())
}

impl SpanText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a schedule", report)?;
        let span = Self {
            days: fields.read("days", report, days),
            hours: fields.read("hours", report, hours),
            time_zone: fields.read("time_zone", report, super::limit::time_zone),
        };
        fields.finish(report);
        Some(span)
    }
}

fn days(node: &Node, report: &mut Report<'_>) -> Option<Vec<Spanned<Weekday>>> {
    let items = one_or_many(node);
    if items.is_empty() {
        never(node, report);
    }
    let days = items.iter().map(|item| scalar::choice(item, &DAYS, report));
    Some(days.collect::<Vec<_>>().into_iter().flatten().collect())
}

fn hours(node: &Node, report: &mut Report<'_>) -> Option<Vec<Spanned<Hours>>> {
    let items = one_or_many(node);
    if items.is_empty() {
        never(node, report);
    }
    if items.len() > MAX_SPANS {
        let message = format!("a day has at most {MAX_SPANS} spans of hours");
        report.error(node.at, message, "remove some");
    }
    let read = |item| span_of_hours(item, report);
    Some(items.iter().take(MAX_SPANS).filter_map(read).collect())
}

/// `08:00-18:00`.
fn span_of_hours(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Hours>> {
    let text = scalar::text(node, report)?;
    let times = text.value.split_once('-');
    let times = times.and_then(|(from, to)| Some((minutes(from.trim())?, minutes(to.trim())?)));
    let cure = "write two times of the day, such as `08:00-18:00`, `22:00-06:00` or `00:00-24:00`";
    match times {
        Some((from, to)) if from == to => {
            let message = format!("{} is no time at all", quoted(&text.value));
            report.error(node.at, message, "write `00:00-24:00` for the whole day");
            None
        }
        Some((from, to)) if from < 24 * 60 => Some(Spanned {
            value: Hours { from, to },
            at: text.at,
        }),
        _ => {
            report.error(node.at, format!("{} are no hours", quoted(&text.value)), cure);
            None
        }
    }
}

/// Minutes after midnight of `08:30`, up to `24:00`.
fn minutes(text: &str) -> Option<u16> {
    let [a, b, b':', c, d] = text.as_bytes() else {
        return None;
    };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    let (hour, minute) = (digit(a)? * 10 + digit(b)?, digit(c)? * 10 + digit(d)?);
    let minutes = hour * 60 + minute;
    (minute < 60 && minutes <= 24 * 60).then_some(minutes)
}

fn never(node: &Node, report: &mut Report<'_>) {
    let what = match node.value {
        Value::List(_) => "this list is empty: the policy would never speak",
        _ => "the policy would never speak",
    };
    report.error(
        node.at,
        what,
        "write such as `[mon, tue]`, `\"08:00-18:00\"`, or remove the field",
    );
}
