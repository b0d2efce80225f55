//! `identity.jwt`, as typed.

use std::time::Duration;

use super::treatment;
use crate::config::Treatment;
use crate::document::fields::{Fields, one_or_many};
use crate::document::gateway::texts;
use crate::document::node::{Node, Place, Spanned};
use crate::document::report::Report;
use crate::document::scalar;

/// One issuer in `identity.jwt`, as typed.
#[derive(Debug)]
pub(crate) struct JwtText {
    pub(crate) at: Place,
    pub(crate) issuer: Option<Spanned<String>>,
    pub(crate) audience: Option<Vec<Spanned<String>>>,
    pub(crate) algorithms: Option<Vec<Spanned<String>>>,
    pub(crate) jwks: Option<Spanned<String>>,
    pub(crate) secret_env: Option<Spanned<String>>,
    pub(crate) secret_file: Option<Spanned<String>>,
    pub(crate) refresh: Option<Spanned<Duration>>,
    pub(crate) leeway: Option<Spanned<Duration>>,
    pub(crate) header: Option<Spanned<String>>,
    pub(crate) cookie: Option<Spanned<String>>,
    pub(crate) subject: Option<Spanned<String>>,
    pub(crate) subject_prefix: Option<Spanned<String>>,
    pub(crate) tier: Option<Spanned<String>>,
    pub(crate) on_missing: Option<Spanned<Treatment>>,
    pub(crate) on_invalid: Option<Spanned<Treatment>>,
}

/// One issuer, or a list of them.
pub(super) fn issuers(node: &Node, report: &mut Report<'_>) -> Option<Vec<JwtText>> {
    let items = one_or_many(node);
    if items.is_empty() {
        report.error(
            node.at,
            "this list is empty",
            "write at least one issuer, or remove the field",
        );
    }
    Some(
        items
            .iter()
            .filter_map(|item| JwtText::read(item, report))
            .collect(),
    )
}

impl JwtText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`jwt`", report)?;
        let issuer = fields.require("issuer", "https://login.example.com", report);
        let audience = fields.require("audience", "https://api.example.com", report);
        let algorithms = fields.require("algorithms", "[RS256]", report);
        refuse_inline_secret(&mut fields, report);
        let jwt = Self {
            at: node.at,
            issuer: issuer.and_then(|issuer| scalar::text(issuer, report)),
            audience: audience.and_then(|audience| texts(audience, report)),
            algorithms: algorithms.and_then(|algorithms| texts(algorithms, report)),
            jwks: fields.read("jwks", report, scalar::text),
            secret_env: fields.read("secret_env", report, scalar::text),
            secret_file: fields.read("secret_file", report, scalar::text),
            refresh: fields.read("refresh", report, scalar::duration),
            leeway: fields.read("leeway", report, scalar::duration),
            header: fields.read("header", report, scalar::text),
            cookie: fields.read("cookie", report, scalar::text),
            subject: fields.read("subject", report, scalar::text),
            subject_prefix: fields.read("subject_prefix", report, scalar::text),
            tier: fields.read("tier", report, scalar::text),
            on_missing: fields.read("on_missing", report, treatment),
            on_invalid: fields.read("on_invalid", report, treatment),
        };
        fields.finish(report);
        Some(jwt)
    }
}

/// Policy files are shown, copied and kept under version control.
fn refuse_inline_secret(fields: &mut Fields<'_>, report: &mut Report<'_>) {
    for name in ["secret", "key"] {
        let Some(at) = fields.refuse(name) else {
            continue;
        };
        report.secret_error(
            at,
            "a secret does not belong into a policy file",
            "make a new one, and name where it is: `secret_env: JWT_SECRET` or `secret_file: jwt.secret`",
        );
    }
}
