//! A refusal in words of one's own, as typed.

use super::fields::Fields;
use super::node::{Node, Spanned, Value};
use super::report::Report;
use super::scalar;

/// `reject`, as typed.
#[derive(Debug)]
pub(crate) struct RejectText {
    pub(crate) status: Option<Spanned<u64>>,
    pub(crate) content_type: Option<Spanned<String>>,
    pub(crate) body: Option<Spanned<String>>,
    pub(crate) headers: Vec<(Spanned<String>, Spanned<String>)>,
}

impl RejectText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`reject`", report)?;
        let reject = Self {
            status: fields.read("status", report, scalar::integer),
            content_type: fields.read("content_type", report, scalar::text),
            body: fields.read("body", report, scalar::text),
            headers: fields.read("headers", report, headers).unwrap_or_default(),
        };
        fields.finish(report);
        Some(reject)
    }
}

fn headers(node: &Node, report: &mut Report<'_>) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    let Value::Map(entries) = &node.value else {
        let message = format!("`headers` is a mapping, and this is {}", node.value.kind());
        report.error(node.at, message, "write `name: value` for each field");
        return None;
    };
    let read = |(name, node): &(Spanned<String>, Node)| Some((name.clone(), scalar::text(node, report)?));
    Some(entries.iter().filter_map(read).collect())
}
