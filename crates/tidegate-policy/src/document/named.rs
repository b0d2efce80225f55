//! Subjects as lists and overrides name them, as typed.

use super::fields::Fields;
use super::node::{Node, Spanned};
use super::report::Report;
use super::scalar;

/// `subject: ann` and what may stand beside it, `issuer: https://login.example.com`.
#[derive(Debug)]
pub(crate) struct NamedText {
    pub(crate) subject: Spanned<String>,
    pub(crate) issuer: Option<Spanned<String>>,
}

impl NamedText {
    /// The subject that `node` names, of the issuer that `fields` name beside it.
    pub(crate) fn read(
        node: &Node,
        issuer: Option<Spanned<String>>,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let subject = scalar::text(node, report)?;
        Some(Self { subject, issuer })
    }

    /// What `fields` name as the issuer.
    pub(crate) fn issuer(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Spanned<String>> {
        fields.read("issuer", report, scalar::text)
    }
}
