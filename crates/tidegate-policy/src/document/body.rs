//! `body` of a policy, as typed.

use super::fields::Fields;
use super::node::{Node, Place, Spanned};
use super::report::Report;
use super::scalar;
use crate::set::body::OnTooLarge;

/// How much of a body a policy looks at, as typed.
#[derive(Debug)]
pub(crate) struct BodyText {
    pub(crate) at: Place,
    pub(crate) max_bytes: Option<Spanned<u64>>,
    pub(crate) on_too_large: Option<Spanned<OnTooLarge>>,
}

impl BodyText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`body`", report)?;
        let body = Self {
            at: node.at,
            max_bytes: fields.read("max_bytes", report, scalar::size),
            on_too_large: fields.read("on_too_large", report, on_too_large),
        };
        fields.finish(report);
        Some(body)
    }
}

fn on_too_large(node: &Node, report: &mut Report<'_>) -> Option<Spanned<OnTooLarge>> {
    let words = [("deny", OnTooLarge::Deny), ("missing", OnTooLarge::Missing)];
    scalar::choice(node, &words, report)
}
