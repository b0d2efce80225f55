//! `identity`, as typed.

mod jwt;

use std::time::Duration;

use super::fields::{Fields, one_or_many};
use super::gateway::texts;
use super::node::{Node, Place, Spanned};
use super::report::Report;
use super::scalar;
use crate::config::Treatment;

pub(crate) use jwt::JwtText;

/// `identity`, as typed.
#[derive(Debug, Default)]
pub(crate) struct IdentityText {
    /// Whether something proves who asks, written rightly or not.
    pub(crate) proves: bool,
    pub(crate) api_key: Option<ApiKeyText>,
    /// Whether `jwt` is written, rightly or not.
    pub(crate) has_jwt: bool,
    pub(crate) jwt: Vec<JwtText>,
    pub(crate) order: Option<Vec<Spanned<ProofKind>>>,
    /// Where `order` stands.
    pub(crate) order_at: Option<Place>,
    pub(crate) ipv6_prefix: Option<Spanned<u64>>,
}

/// What proves who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofKind {
    Jwt,
    ApiKey,
}

impl IdentityText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`identity`", report)?;
        let has_jwt = fields.place("jwt").is_some();
        let identity = Self {
            proves: has_jwt || fields.place("api_key").is_some(),
            api_key: fields.read("api_key", report, ApiKeyText::read),
            has_jwt,
            jwt: fields.read("jwt", report, jwt::issuers).unwrap_or_default(),
            order_at: fields.place("order"),
            order: fields.read("order", report, order),
            ipv6_prefix: fields.read("ipv6_prefix", report, scalar::integer),
        };
        fields.finish(report);
        Some(identity)
    }
}

fn order(node: &Node, report: &mut Report<'_>) -> Option<Vec<Spanned<ProofKind>>> {
    let words = [("jwt", ProofKind::Jwt), ("api_key", ProofKind::ApiKey)];
    let kinds = one_or_many(node).iter();
    Some(
        kinds
            .filter_map(|kind| scalar::choice(kind, &words, report))
            .collect(),
    )
}

/// `identity.api_key`, as typed.
#[derive(Debug)]
pub(crate) struct ApiKeyText {
    pub(crate) at: Place,
    pub(crate) header: Option<Spanned<String>>,
    pub(crate) query: Option<Spanned<String>>,
    pub(crate) cookie: Option<Spanned<String>>,
    /// Files, and the word `store`.
    pub(crate) keys: Option<Vec<Spanned<String>>>,
    pub(crate) cache: Option<Spanned<Duration>>,
    pub(crate) stale: Option<Spanned<Duration>>,
    pub(crate) strip: Option<Spanned<bool>>,
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
            keys: keys.and_then(|keys| texts(keys, report)),
            cache: fields.read("cache", report, scalar::duration),
            stale: fields.read("stale", report, scalar::duration),
            strip: fields.read("strip", report, scalar::boolean),
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
