//! `match`, as typed.

use super::descriptor::CallText;
use super::fields::Fields;
use super::gateway::texts;
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;

/// `match`, as typed. What is absent restricts nothing.
#[derive(Debug, Default)]
pub(crate) struct MatchText {
    pub(crate) method: Vec<Spanned<String>>,
    pub(crate) host: Vec<Spanned<String>>,
    pub(crate) path: Vec<Spanned<String>>,
    /// `path`, or all of `match`, could not be read, which has been reported: there may be patterns that nobody knows.
    pub(crate) path_is_wrong: bool,
    pub(crate) headers: Vec<FieldText>,
    pub(crate) query: Vec<FieldText>,
    pub(crate) cookies: Vec<FieldText>,
    pub(crate) body: Vec<FieldText>,
    /// Which calls of the rate limit service match; none if it is about requests.
    pub(crate) call: Option<CallText>,
}

/// What one header field, query parameter, cookie or part of the body has to be, as typed.
#[derive(Debug)]
pub(crate) struct FieldText {
    pub(crate) name: Spanned<String>,
    pub(crate) wanted: WantedText,
}

/// What a value has to be, as typed.
#[derive(Debug)]
pub(crate) enum WantedText {
    /// One of these.
    OneOf(Vec<String>),
    /// Something that begins so.
    Prefix(String),
    /// Anything.
    Present,
    /// Not there.
    Absent,
}

impl MatchText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Self {
        let Some(mut fields) = Fields::of(node, "`match`", report) else {
            return Self {
                path_is_wrong: true,
                ..Self::default()
            };
        };
        let method = fields.read("method", report, texts).unwrap_or_default();
        let host = fields.read("host", report, texts).unwrap_or_default();
        let earlier_errors = report.errors();
        let path = fields.read("path", report, texts).unwrap_or_default();
        let matching = Self {
            method,
            host,
            path,
            path_is_wrong: report.errors() > earlier_errors,
            headers: fields.read("headers", report, values).unwrap_or_default(),
            query: fields.read("query", report, values).unwrap_or_default(),
            cookies: fields.read("cookies", report, values).unwrap_or_default(),
            body: fields.read("body", report, values).unwrap_or_default(),
            call: CallText::read(&mut fields, report),
        };
        fields.finish(report);
        matching
    }
}

fn values(node: &Node, report: &mut Report<'_>) -> Option<Vec<FieldText>> {
    let Value::Map(entries) = &node.value else {
        let message = format!(
            "a mapping of names to values belongs here, and this is {}",
            node.value.kind()
        );
        report.error(
            node.at,
            message,
            "write `name: value`, `name: [a, b]` or `name: { prefix: a }`",
        );
        return None;
    };
    let read = |(name, node): &(Spanned<String>, Node)| {
        let name = name.clone();
        wanted(node, report).map(|wanted| FieldText { name, wanted })
    };
    Some(entries.iter().filter_map(read).collect())
}

fn wanted(node: &Node, report: &mut Report<'_>) -> Option<WantedText> {
    let Value::Map(_) = node.value else {
        let values = texts(node, report)?;
        return Some(WantedText::OneOf(
            values.into_iter().map(|text| text.value).collect(),
        ));
    };
    let mut fields = Fields::of(node, "a value", report)?;
    let prefix = fields.read("prefix", report, scalar::text);
    let present = fields.read("present", report, scalar::boolean);
    let written = [fields.place("prefix"), fields.place("present")];
    fields.finish(report);
    if written.iter().flatten().count() != 1 {
        one_of_two(node.at, report);
        return None;
    }
    match (prefix, present) {
        (Some(prefix), _) => Some(WantedText::Prefix(prefix.value)),
        (None, Some(present)) if present.value => Some(WantedText::Present),
        (None, Some(_)) => Some(WantedText::Absent),
        (None, None) => None,
    }
}

fn one_of_two(at: Place, report: &mut Report<'_>) {
    let message = "a value is described by `prefix` or by `present`";
    report.error(
        at,
        message,
        "write one of them, such as `{ prefix: curl/ }` or `{ present: true }`",
    );
}
