//! Scalars: texts, whole numbers, durations, sizes, and words from a closed list.

use std::time::Duration;

use tidegate_core::Timestamp;

use super::node::{Node, Spanned, Value};
use super::report::{Report, any_of, nearest, quoted};

/// `node` as a text of at least one character.
pub fn text(node: &Node, report: &mut Report<'_>) -> Option<Spanned<String>> {
    let text = raw(node, "a text", report)?;
    if text.is_empty() {
        report.error(
            node.at,
            "this text is empty",
            "write it, or remove the field if it is not needed",
        );
        return None;
    }
    Some(spanned(node, text.to_owned()))
}

/// `node` as a whole number of at least 0.
pub fn integer(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    let text = raw(node, "a whole number", report)?;
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse() {
            Ok(number) => Some(spanned(node, number)),
            Err(_) => {
                report.error(
                    node.at,
                    "this number is too large",
                    format!("write at most {}", u64::MAX),
                );
                None
            }
        };
    }
    let message = format!("{} is not a whole number", quoted(text));
    report.error(node.at, message, "write digits only, such as `60`");
    None
}

/// `node` as `true` or `false`.
pub fn boolean(node: &Node, report: &mut Report<'_>) -> Option<Spanned<bool>> {
    choice(node, &[("true", true), ("false", false)], report)
}

/// `node` as one of `words`.
pub fn choice<T: Copy>(
    node: &Node,
    words: &[(&'static str, T)],
    report: &mut Report<'_>,
) -> Option<Spanned<T>> {
    let text = raw(node, "a word", report)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Some(spanned(node, *value));
    }
    let known = || words.iter().map(|(word, _)| *word);
    let cure = match nearest(text, known()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("write {}", any_of(known())),
    };
    report.error(node.at, format!("{} is not known here", quoted(text)), cure);
    None
}

/// `node` as a duration: numbers with units, such as `90s` or `1h30m`.
pub(crate) fn duration(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Duration>> {
    let text = raw(node, "a duration", report)?;
    match parse_duration(text) {
        Ok(duration) => Some(spanned(node, duration)),
        Err(fault) => {
            let cure = match fault {
                Fault::NoUnit => format!("say of what: `{text}s`, `{text}m` or `{text}h`"),
                Fault::TooLarge => "write at most 292 years".to_owned(),
                Fault::Syntax => {
                    "write numbers with `ms`, `s`, `m`, `h`, `d` or `w`, largest first: `90s`, `1h30m`"
                        .to_owned()
                }
            };
            report.error(node.at, format!("{} is not a duration", quoted(text)), cure);
            None
        }
    }
}

/// `node` as a moment: `2027-01-01T00:00:00Z`, or a day, which means its beginning in UTC.
pub(crate) fn moment(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Timestamp>> {
    let text = raw(node, "a moment", report)?;
    let instant = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let day = text.parse::<jiff::civil::Date>().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()
    });
    let nanos = instant.and_then(|instant| u64::try_from(instant.as_nanosecond()).ok());
    match nanos {
        Some(nanos) => Some(spanned(node, Timestamp::from_nanos(nanos))),
        None => {
            let message = format!("{} is not a moment", quoted(text));
            let cure = "write such as `2027-01-01T00:00:00Z`, or a day: `2027-01-01`";
            report.error(node.at, message, cure);
            None
        }
    }
}

/// `node` as a number of bytes: `64MiB`, or digits alone.
pub(crate) fn size(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    let text = raw(node, "a size", report)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_bytes = SIZES.iter().find(|(name, _)| *name == unit.trim_start());
    let bytes = unit_bytes.and_then(|(_, bytes)| number.parse::<u64>().ok()?.checked_mul(*bytes));
    if bytes.is_none() {
        let message = format!("{} is not a size", quoted(text));
        report.error(
            node.at,
            message,
            "write bytes, or a number with `KiB`, `MiB` or `GiB`: `64MiB`",
        );
    }
    bytes.map(|bytes| spanned(node, bytes))
}

const SIZES: [(&str, u64); 8] = [
    ("", 1),
    ("B", 1),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// Units of durations, largest first, in nanoseconds.
pub(crate) const UNITS: [(&str, u64); 8] = [
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NoUnit,
    TooLarge,
    Syntax,
}

/// Numbers with units, each unit smaller than the one before.
fn parse_duration(text: &str) -> Result<Duration, Fault> {
    let mut nanos: u64 = 0;
    let mut units = UNITS.iter();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letters = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let (number, after) = rest.split_at(digits);
        let (unit, after) = after.split_at(letters);
        if digits == 0 || (letters == 0 && !after.is_empty()) {
            return Err(Fault::Syntax);
        }
        if letters == 0 {
            return Err(Fault::NoUnit);
        }
        let (_, unit) = units.find(|(name, _)| *name == unit).ok_or(Fault::Syntax)?;
        let number: u64 = number.parse().map_err(|_| Fault::TooLarge)?;
        let part = number.checked_mul(*unit).ok_or(Fault::TooLarge)?;
        nanos = nanos.checked_add(part).ok_or(Fault::TooLarge)?;
        rest = after;
    }
    if text.is_empty() {
        return Err(Fault::Syntax);
    }
    Ok(Duration::from_nanos(nanos))
}

fn raw<'n>(node: &'n Node, wanted: &str, report: &mut Report<'_>) -> Option<&'n str> {
    let Value::Text(text) = &node.value else {
        let message = format!("{wanted} belongs here, and this is {}", node.value.kind());
        report.error(node.at, message, format!("write {wanted}, or remove the field"));
        return None;
    };
    Some(text)
}

fn spanned<T>(node: &Node, value: T) -> Spanned<T> {
    Spanned { value, at: node.at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_falling_units() {
        let seconds = |text| parse_duration(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("1h30m"), Ok(5400));
        assert_eq!(seconds("2w"), Ok(14 * 86_400));
        assert_eq!(parse_duration("1s500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_duration_says_why() {
        assert_eq!(parse_duration("60"), Err(Fault::NoUnit));
        for text in ["", "s", "1x", "1m1h", "1m1m", "1.5s", "-1s", "1 s", "1s!"] {
            assert_eq!(parse_duration(text), Err(Fault::Syntax), "{text}");
        }
        for text in ["99999999999999999999s", "31000w"] {
            assert_eq!(parse_duration(text), Err(Fault::TooLarge), "{text}");
        }
    }
}
