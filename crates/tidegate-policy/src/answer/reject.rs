//! A refusal in a policy's own words.

pub(crate) mod template;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use super::told::json_text;
use super::x_rate_limit;
use crate::Verdict;
use template::{Hole, Template};

/// What a policy says when one of its limits is used up, instead of what is said everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    pub(crate) status: StatusCode,
    /// None: the usual one.
    pub(crate) body: Option<RejectBody>,
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
}

/// The body, and of which type it is.
#[derive(Clone, Debug)]
pub(crate) struct RejectBody {
    pub(crate) content_type: HeaderValue,
    pub(crate) escape: Escape,
    pub(crate) template: Template,
}

/// How values are written into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As they are.
    Not,
    /// As inside a string of JSON.
    Json,
    /// As between or inside the tags of HTML and XML.
    Html,
}

impl Escape {
    /// The way of a media type.
    pub(crate) fn of(media_type: &str) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        if essence == "application/json" || essence.ends_with("+json") {
            Self::Json
        } else if essence.contains("html") || essence.ends_with("xml") {
            Self::Html
        } else {
            Self::Not
        }
    }

    /// `text`, written in this way.
    pub(crate) fn escaped(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Not => Cow::Borrowed(text),
            Self::Json => String::from_utf8_lossy(&json_text(text)).into_owned().into(),
            Self::Html => html(text),
        }
    }

    /// What stands for a number that is not there.
    fn nothing(self) -> &'static str {
        match self {
            Self::Json => "null",
            Self::Not | Self::Html => "never",
        }
    }
}

fn html(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// What a refusal knows beside its verdict.
pub(super) struct Moment {
    pub(super) wait_secs: Option<u64>,
    pub(super) now: tidegate_core::Timestamp,
}

impl RejectBody {
    /// The text of a refusal with `verdict`.
    pub(super) fn text(&self, verdict: &Verdict<'_>, status: StatusCode, moment: &Moment) -> Bytes {
        let deciding = verdict.deciding();
        let number = |number: Option<u64>| match number {
            Some(number) => number.to_string(),
            None => self.escape.nothing().to_owned(),
        };
        let text = self.template.fill(|hole| match hole {
            Hole::Policy => {
                let name = deciding.map_or("", |deciding| &*deciding.source.policy.name);
                self.escape.escaped(name).into_owned()
            }
            Hole::Limit => number(deciding.map(|deciding| deciding.source.limit.limit.capacity())),
            Hole::Remaining => number(deciding.map(|deciding| deciding.decision.remaining)),
            Hole::Reset => number(deciding.map(|deciding| x_rate_limit::reset_secs(deciding, moment.now))),
            Hole::RetryAfter => number(moment.wait_secs),
            Hole::Status => status.as_u16().to_string(),
        });
        text.into()
    }

    /// Whether the text is JSON once its holes are filled, if it has to be.
    pub(crate) fn is_well_formed(&self) -> bool {
        let filled = self.template.fill(|hole| match hole {
            Hole::Policy => "name".to_owned(),
            _ => "1".to_owned(),
        });
        self.escape != Escape::Json || serde_json::from_str::<serde_json::Value>(&filled).is_ok()
    }
}

impl Reject {
    /// Says it on `response`, which says the usual.
    pub(super) fn tell(&self, verdict: &Verdict<'_>, moment: &Moment, response: &mut Response<Bytes>) {
        if let Some(body) = &self.body {
            *response.body_mut() = body.text(verdict, self.status, moment);
            let fields = response.headers_mut();
            fields.insert(header::CONTENT_TYPE, body.content_type.clone());
            fields.remove(header::CONTENT_SECURITY_POLICY);
        }
        for (name, value) in &self.fields {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
}
