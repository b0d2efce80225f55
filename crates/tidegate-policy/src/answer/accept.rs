//! Which media type a problem body gets.

use http::{HeaderMap, HeaderValue, header};

/// How much of `Accept` is read. What goes beyond is ignored.
const MAX_ACCEPT_BYTES: usize = 1024;

/// How many media ranges of `Accept` are read.
const MAX_RANGES: usize = 32;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// `application/problem+json` if the client names it and likes it no less than `application/json`, or likes it more by
/// its wildcards; `application/json` otherwise, also when it accepts neither.
pub(super) fn media_type(fields: &HeaderMap) -> HeaderValue {
    let mut lines = fields.get_all(header::ACCEPT).iter();
    match (lines.next(), lines.next()) {
        (None, _) => return JSON,
        // What most programs send.
        (Some(only), None) if only == "*/*" => return JSON,
        _ => {}
    }
    let mut problem = Weight::default();
    let mut json = Weight::default();
    for range in ranges(fields) {
        let Some(range) = MediaRange::parse(range) else {
            continue;
        };
        problem.consider(&range, b"problem+json");
        json.consider(&range, b"json");
    }
    let preferred = problem.quality > json.quality;
    let named = problem.specificity == Specificity::Named && problem.quality == json.quality;
    if problem.quality > 0 && (preferred || named) {
        PROBLEM_JSON
    } else {
        JSON
    }
}

/// How much a client likes one media type, by the most specific range that fits it (RFC 9110, 12.5.1).
#[derive(Default)]
struct Weight {
    specificity: Specificity,
    /// In thousandths.
    quality: u16,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    #[default]
    Unmentioned,
    AnyType,
    AnySubtype,
    Named,
}

impl Weight {
    fn consider(&mut self, range: &MediaRange<'_>, subtype: &[u8]) {
        let specificity = match (range.kind, range.subtype) {
            (b"*", b"*") => Specificity::AnyType,
            (kind, b"*") if kind.eq_ignore_ascii_case(b"application") => Specificity::AnySubtype,
            (kind, named)
                if kind.eq_ignore_ascii_case(b"application") && named.eq_ignore_ascii_case(subtype) =>
            {
                Specificity::Named
            }
            _ => return,
        };
        if specificity > self.specificity {
            *self = Self {
                specificity,
                quality: range.quality,
            };
        } else if specificity == self.specificity {
            self.quality = self.quality.max(range.quality);
        }
    }
}

struct MediaRange<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    quality: u16,
}

impl<'a> MediaRange<'a> {
    /// `application/json;charset=utf-8;q=0.5`; `None` if it is not one. Parameters other than `q` make no difference here.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let mut pieces = unquoted_split(text, b';').map(<[u8]>::trim_ascii);
        let name = pieces.next()?;
        let slash = name.iter().position(|&byte| byte == b'/')?;
        let mut quality = 1000;
        for parameter in pieces {
            if let [b'q' | b'Q', b'=', value @ ..] = parameter {
                quality = thousandths(value)?;
            }
        }
        Some(Self {
            kind: &name[..slash],
            subtype: &name[slash + 1..],
            quality,
        })
    }
}

/// A quality value: `0`, `1`, or with up to three digits behind the point.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, digits) = match text {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', digits @ ..] if digits.len() <= 3 => (whole, digits),
        _ => return None,
    };
    let mut value = u16::from(whole - b'0');
    for place in 0..3 {
        let digit = digits.get(place).unwrap_or(&b'0');
        value = value * 10 + digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
    }
    (value <= 1000).then_some(value)
}

/// The media ranges of all lines of `Accept`, within the bounds.
fn ranges(fields: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let mut bytes_left = MAX_ACCEPT_BYTES;
    fields
        .get_all(header::ACCEPT)
        .iter()
        .flat_map(|line| unquoted_split(line.as_bytes(), b','))
        .take_while(move |range| {
            let fits = range.len() < bytes_left;
            bytes_left = bytes_left.saturating_sub(range.len() + 1);
            fits
        })
        .take(MAX_RANGES)
}

/// Splits at each `separator` outside a quoted string.
fn unquoted_split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |&byte| {
        if escaped {
            escaped = false;
            return false;
        }
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => escaped = true,
            _ => {}
        }
        byte == separator && !quoted
    })
}
