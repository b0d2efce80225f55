//! In which form a client likes to be told.

use http::{HeaderMap, Method, header};

use super::form::{Form, Framing};
use crate::Request;

/// How much of `Accept` is read. What goes beyond is ignored.
const MAX_ACCEPT_BYTES: usize = 1024;

/// How many media ranges of `Accept` are read.
const MAX_RANGES: usize = 32;

/// What the client likes best.
///
/// gRPC clients say what they are by `Content-Type`. For others `Accept` decides: the form of the highest quality, at equal
/// qualities one that is named before one that only a wildcard fits. JSON where nothing fits.
pub(super) fn form(request: &Request<'_>) -> Form {
    match call(request.method, request.headers) {
        Some(framing) => Form::Grpc(framing),
        None => by_accept(request.headers),
    }
}

/// Which gRPC a request is, if it is a call.
pub(super) fn call(method: &Method, fields: &HeaderMap) -> Option<Framing> {
    if method == Method::POST {
        grpc(fields)
    } else {
        None
    }
}

pub(super) fn by_accept(fields: &HeaderMap) -> Form {
    let mut lines = fields.get_all(header::ACCEPT).iter();
    match (lines.next(), lines.next()) {
        (None, _) => return Form::Json,
        // What most programs send.
        (Some(only), None) if only == "*/*" => return Form::Json,
        _ => {}
    }
    let mut weights = CANDIDATES.map(|_| Weight::default());
    for range in ranges(fields).filter_map(MediaRange::parse) {
        for (weight, candidate) in weights.iter_mut().zip(&CANDIDATES) {
            weight.consider(&range, candidate);
        }
    }
    let mut best = (Form::Json, (0, false, 0));
    for (weight, candidate) in weights.iter().zip(&CANDIDATES) {
        let named = weight.specificity == Specificity::Named;
        let rank = if named {
            candidate.if_named
        } else {
            candidate.if_fits
        };
        let liking = (weight.quality, named, rank);
        if weight.quality > 0 && liking > best.1 {
            best = (candidate.form, liking);
        }
    }
    best.0
}

/// A form, and how it ranks among equals.
struct Candidate {
    form: Form,
    kind: &'static [u8],
    subtype: &'static [u8],
    if_named: u8,
    if_fits: u8,
}

const CANDIDATES: [Candidate; 4] = [
    Candidate {
        form: Form::Problem,
        kind: b"application",
        subtype: b"problem+json",
        if_named: 4,
        if_fits: 3,
    },
    Candidate {
        form: Form::Json,
        kind: b"application",
        subtype: b"json",
        if_named: 3,
        if_fits: 4,
    },
    Candidate {
        form: Form::Plain,
        kind: b"text",
        subtype: b"plain",
        if_named: 1,
        if_fits: 2,
    },
    Candidate {
        form: Form::Html,
        kind: b"text",
        subtype: b"html",
        if_named: 2,
        if_fits: 1,
    },
];

/// Which gRPC the body of the request is, if it is one: `application/grpc`, `application/grpc+proto`.
fn grpc(fields: &HeaderMap) -> Option<Framing> {
    let media_type = fields.get(header::CONTENT_TYPE)?.as_bytes();
    let (kind, rest) = media_type.split_at_checked(b"application/grpc".len())?;
    if !kind.eq_ignore_ascii_case(b"application/grpc") {
        return None;
    }
    let begins = |with: &[u8]| {
        rest.get(..with.len())
            .is_some_and(|beginning| beginning.eq_ignore_ascii_case(with))
    };
    match rest.first() {
        None | Some(b'+' | b';' | b' ') => Some(Framing::Fields),
        _ if begins(b"-web-text") => Some(Framing::WebText),
        _ if begins(b"-web") => Some(Framing::Web),
        _ => None,
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
    fn consider(&mut self, range: &MediaRange<'_>, candidate: &Candidate) {
        let specificity = match (range.kind, range.subtype) {
            (b"*", b"*") => Specificity::AnyType,
            (kind, b"*") if kind.eq_ignore_ascii_case(candidate.kind) => Specificity::AnySubtype,
            (kind, named)
                if kind.eq_ignore_ascii_case(candidate.kind)
                    && named.eq_ignore_ascii_case(candidate.subtype) =>
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
