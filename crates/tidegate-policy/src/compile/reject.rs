//! What `reject` means.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode};

use super::gateway::within;
use super::identity::header_name;
use crate::answer::is_reserved;
use crate::answer::reject::template::{Fault, HOLES, MAX_BYTES, MAX_HOLES, Template};
use crate::answer::reject::{Escape, Reject, RejectBody};
use crate::document::node::Spanned;
use crate::document::reject::RejectText;
use crate::document::report::{Report, any_of, nearest, quoted};

/// The most header fields of one's own.
const MAX_FIELDS: usize = 16;

/// The longest value of such a field, in bytes.
const MAX_VALUE_BYTES: usize = 1024;

const PLAIN: &str = "text/plain; charset=utf-8";

/// Fields that say how a message lies on the wire, or that Tidegate says itself.
const NOT_OURS: [&str; 14] = [
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
    "cache-control",
    "content-type",
    "date",
    "retry-after",
    "via",
    "content-encoding",
];

pub(super) fn reject(text: &RejectText, report: &mut Report<'_>) -> Arc<Reject> {
    if let (Some(content_type), None) = (&text.content_type, &text.body) {
        let message = "`content_type` says nothing without a `body`";
        report.error(content_type.at, message, "write a `body`, or remove it");
    }
    let status = text.status.as_ref();
    let status: Option<u16> = status.and_then(|status| within(status, 400..=599, report));
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    Arc::new(Reject {
        status: status.unwrap_or(StatusCode::TOO_MANY_REQUESTS),
        body: text.body.as_ref().and_then(|body| self::body(text, body, report)),
        fields: fields(text, report),
    })
}

fn body(text: &RejectText, body: &Spanned<String>, report: &mut Report<'_>) -> Option<RejectBody> {
    let media_type = text.content_type.as_ref().map_or(PLAIN, |written| &written.value);
    let is_media_type = media_type.contains('/') && HeaderValue::from_str(media_type).is_ok();
    if let (Some(written), false) = (&text.content_type, is_media_type) {
        let message = format!("{} is not a media type", quoted(&written.value));
        report.error(written.at, message, "write such as `text/html; charset=utf-8`");
        return None;
    }
    let template = match Template::parse(&body.value) {
        Ok(template) => template,
        Err(fault) => {
            wrong_template(fault, body, report);
            return None;
        }
    };
    let body_of_one = RejectBody {
        content_type: HeaderValue::from_str(media_type).ok()?,
        escape: Escape::of(media_type),
        template,
    };
    if !body_of_one.is_well_formed() {
        let message = "this body is not JSON, which its `content_type` says";
        let cure = "write it as JSON; `{{retry_after}}` and other numbers need no quotes around them";
        report.error(body.at, message, cure);
    }
    Some(body_of_one)
}

fn wrong_template(fault: Fault<'_>, body: &Spanned<String>, report: &mut Report<'_>) {
    let names = || HOLES.iter().map(|(name, _)| *name);
    let (message, cure) = match fault {
        Fault::Open => (
            "a `{{` here has no `}}`".to_owned(),
            "write such as `{{retry_after}}`".to_owned(),
        ),
        Fault::Unknown(name) => {
            let cure = match nearest(name, names()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("write {}", any_of(names())),
            };
            (format!("nothing is called {} in a refusal", quoted(name)), cure)
        }
        Fault::TooLong => (
            "this body is too long".to_owned(),
            format!("write at most {MAX_BYTES} bytes"),
        ),
        Fault::TooManyHoles => (
            "this body has too many `{{…}}`".to_owned(),
            format!("write at most {MAX_HOLES}"),
        ),
    };
    report.error(body.at, message, cure);
}

fn fields(text: &RejectText, report: &mut Report<'_>) -> Vec<(HeaderName, HeaderValue)> {
    if let Some((beyond, _)) = text.headers.get(MAX_FIELDS) {
        let message = format!("a refusal has at most {MAX_FIELDS} fields of one's own");
        report.error(beyond.at, message, "remove some");
    }
    let mut fields = Vec::new();
    for (name, value) in text.headers.iter().take(MAX_FIELDS) {
        let Some(header) = header_name(&name.value, name.at, report) else {
            continue;
        };
        if is_ours(&header) {
            let message = format!("the field {} is not for a policy to write", quoted(&name.value));
            report.error(name.at, message, "remove it: Tidegate writes what is true");
        }
        match HeaderValue::from_str(&value.value) {
            Ok(value) if value.len() <= MAX_VALUE_BYTES => fields.push((header, value)),
            _ => {
                let message = format!("{} cannot be the value of a field", quoted(&value.value));
                let cure = format!("write one line of ASCII, at most {MAX_VALUE_BYTES} bytes");
                report.error(value.at, message, cure);
            }
        }
    }
    fields
}

fn is_ours(name: &HeaderName) -> bool {
    let text = name.as_str();
    NOT_OURS.contains(&text)
        || is_reserved(name)
        || ["ratelimit", "x-ratelimit", "grpc-"]
            .iter()
            .any(|beginning| text.starts_with(beginning))
}
