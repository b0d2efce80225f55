//! Limits of single subjects, as typed.

use tidegate_core::Timestamp;

use super::fields::{Fields, one_or_many};
use super::limit::LimitText;
use super::named::NamedText;
use super::node::{Node, Place, Spanned};
use super::policy;
use super::report::Report;
use super::scalar;

/// One of `overrides`, as typed.
#[derive(Debug)]
pub(crate) struct OverrideText {
    pub(crate) at: Place,
    pub(crate) named: Option<NamedText>,
    pub(crate) until: Option<Spanned<Timestamp>>,
    pub(crate) reason: Option<Spanned<String>>,
    /// Empty if they are missing or wrong, which has been reported.
    pub(crate) limits: Vec<LimitText>,
}

pub(crate) fn overrides(node: &Node, report: &mut Report<'_>) -> Option<Vec<OverrideText>> {
    let items = one_or_many(node).iter();
    Some(
        items
            .filter_map(|item| OverrideText::read(item, report))
            .collect(),
    )
}

impl OverrideText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "an override", report)?;
        let subject = fields.require("subject", "acme", report);
        let issuer = NamedText::issuer(&mut fields, report);
        let until = fields.require("until", "2027-01-01T00:00:00Z", report);
        let text = Self {
            at: node.at,
            named: subject.and_then(|subject| NamedText::read(subject, issuer, report)),
            until: until.and_then(|until| scalar::moment(until, report)),
            reason: fields.read("reason", report, scalar::text),
            limits: policy::limits(&mut fields, "an override", report),
        };
        fields.finish(report);
        Some(text)
    }
}
