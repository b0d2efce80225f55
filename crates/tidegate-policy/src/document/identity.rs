//! `identity`, as typed.

use super::fields::Fields;
use super::node::{Node, Place, Spanned};
use super::report::Report;
use super::scalar;
use crate::config::Treatment;

/// `identity`, as typed.
#[derive(Debug, Default)]
pub(crate) struct IdentityText {
    /// Whether `api_key` is written, rightly or not.
    pub(crate) has_api_key: bool,
    pub(crate) api_key: Option<ApiKeyText>,
    pub(crate) ipv6_prefix: Option<Spanned<u64>>,
}

impl IdentityText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`identity`", report)?;
        let identity = Self {
            has_api_key: fields.place("api_key").is_some(),
            api_key: fields.read("api_key", report, ApiKeyText::read),
            ipv6_prefix: fields.read("ipv6_prefix", report, scalar::integer),
        };
        fields.finish(report);
        Some(identity)
    }
}

/// `identity.api_key`, as typed.
#[derive(Debug)]
pub(crate) struct ApiKeyText {
    pub(crate) at: Place,
    pub(crate) header: Option<Spanned<String>>,
    pub(crate) query: Option<Spanned<String>>,
    pub(crate) cookie: Option<Spanned<String>>,
    pub(crate) keys: Option<Spanned<String>>,
    pub(crate) on_missing: Option<Spanned<Treatment>>,
    pub(crate) on_unknown: Option<Spanned<Treatment>>,
    pub(crate) on_revoked: Option<Spanned<Treatment>>,
}

impl ApiKeyText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`api_key`", report)?;
        let keys = fields.require("keys", "keys.yaml", report);
        let api_key = Self {
            at: node.at,
            header: fields.read("header", report, scalar::text),
            query: fields.read("query", report, scalar::text),
            cookie: fields.read("cookie", report, scalar::text),
            keys: keys.and_then(|keys| scalar::text(keys, report)),
            on_missing: fields.read("on_missing", report, treatment),
            on_unknown: fields.read("on_unknown", report, treatment),
            on_revoked: fields.read("on_revoked", report, treatment),
        };
        fields.finish(report);
        Some(api_key)
    }
}

fn treatment(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Treatment>> {
    let words = [("reject", Treatment::Reject), ("anonymous", Treatment::Anonymous)];
    scalar::choice(node, &words, report)
}
