//! What the origin is told.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use smallvec::SmallVec;

use super::mark_failure;
use crate::{Identity, Verdict};

const VERDICT: HeaderName = HeaderName::from_static("x-tidegate-verdict");
const TIER: HeaderName = HeaderName::from_static("x-tidegate-tier");
const SUBJECT: HeaderName = HeaderName::from_static("x-tidegate-subject");
const ISSUER: HeaderName = HeaderName::from_static("x-tidegate-issuer");
const REMAINING: HeaderName = HeaderName::from_static("x-tidegate-remaining");
const SHADOW: HeaderName = HeaderName::from_static("x-tidegate-shadow");

/// The most fields that one request gets.
const MOST_FIELDS: usize = 7;

/// What our request fields begin with.
const RESERVED: &str = "x-tidegate-";

/// Tells the origin what was decided: removes what the client sent under our names, then sets them.
/// Call it on every forwarded request, after hop-by-hop fields are removed (so that `Connection` cannot name ours).
///
/// | field | value |
/// | --- | --- |
/// | `x-tidegate-verdict` | `pass`, `shadow` or `delay` |
/// | `x-tidegate-subject`, `-tier` | whom a known API key or a token stands for, and their plan |
/// | `x-tidegate-issuer` | who issued the token |
/// | `x-tidegate-remaining` | what the limit with the least left still holds |
/// | `x-tidegate-shadow` | the limit or policy in shadow mode that would have refused |
/// | `x-tidegate-failure` | why the store could not decide |
pub fn tell_origin(verdict: &Verdict<'_>, identity: &Identity, fields: &mut HeaderMap) {
    strip(fields);
    fields.reserve(MOST_FIELDS);
    fields.insert(VERDICT, HeaderValue::from_static(verdict.word()));
    if let Identity::Known {
        subject,
        tier,
        issuer,
        ..
    } = identity
    {
        fields.insert(SUBJECT, escaped(subject));
        if let Some(issuer) = issuer {
            fields.insert(ISSUER, escaped(issuer));
        }
        if let Some(tier) = tier {
            fields.insert(TIER, escaped(tier));
        }
    }
    if let Some(deciding) = verdict.deciding() {
        fields.insert(REMAINING, HeaderValue::from(deciding.decision.remaining));
    }
    if let Some(shadow) = &verdict.shadow {
        fields.insert(SHADOW, escaped(shadow.name()));
    }
    mark_failure(verdict.failure, fields);
}

/// Whether a request field is ours alone: its name begins with `x-tidegate-`, in any spelling.
pub fn is_reserved(name: &HeaderName) -> bool {
    name.as_str()
        .get(..RESERVED.len())
        .is_some_and(|start| is_spelling(start, RESERVED))
}

/// Whether an origin may read the lower-case field name `sent` as `name`. Any mark counts as a hyphen, because CGI and its heirs
/// cannot tell them apart: all read `_` so, some `.` and the others too.
pub fn is_spelling(sent: &str, name: &str) -> bool {
    let same = |(sent, known): (u8, u8)| sent == known || (known == b'-' && !sent.is_ascii_alphanumeric());
    sent.len() == name.len() && sent.bytes().zip(name.bytes()).all(same)
}

fn strip(fields: &mut HeaderMap) {
    let sent: SmallVec<[HeaderName; 4]> = fields.keys().filter(|name| is_reserved(name)).cloned().collect();
    for name in sent {
        fields.remove(name);
    }
}

/// What a header value shows as `%` and two hexadecimal digits per byte, beside all that is not ASCII: controls, blanks and `%`.
const ESCAPED: AsciiSet = CONTROLS.add(b' ').add(b'%');

/// `text` as a header value, whatever its characters are.
fn escaped(text: &str) -> HeaderValue {
    let escaped: Cow<'_, str> = utf8_percent_encode(text, &ESCAPED).into();
    HeaderValue::from_str(&escaped).unwrap_or(HeaderValue::from_static(""))
}
