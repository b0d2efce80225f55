//! `admin` and `access_log`, as typed.

use super::fields::Fields;
use super::node::{Node, Spanned, Value};
use super::report::Report;
use super::scalar;
use crate::config::Logged;

/// `admin`, as typed.
#[derive(Debug)]
pub(crate) enum AdminText {
    /// A word, or an address alone.
    Named(Spanned<String>),
    /// `listen: …`.
    Listen(Spanned<String>),
}

impl AdminText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(_) = node.value {
            return scalar::text(node, report).map(Self::Named);
        }
        let mut fields = Fields::of(node, "`admin`", report)?;
        let listen = fields.require("listen", "127.0.0.1:9900", report);
        let listen = listen.and_then(|listen| scalar::text(listen, report));
        fields.finish(report);
        listen.map(Self::Listen)
    }
}

/// `access_log`, as typed.
#[derive(Debug)]
pub(crate) struct AccessLogText {
    pub(crate) to: Spanned<String>,
    pub(crate) only: Option<Spanned<Logged>>,
    pub(crate) sample_percent: Option<Spanned<u64>>,
}

impl AccessLogText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(_) = node.value {
            return scalar::text(node, report).map(|to| Self {
                to,
                only: None,
                sample_percent: None,
            });
        }
        let mut fields = Fields::of(node, "`access_log`", report)?;
        let to = fields.require("to", "stdout", report);
        let to = to.and_then(|to| scalar::text(to, report));
        let only = fields.read("only", report, |node, report| {
            let words = [("all", Logged::All), ("rejected", Logged::Rejected)];
            scalar::choice(node, &words, report)
        });
        let sample_percent = fields.read("sample_percent", report, scalar::integer);
        fields.finish(report);
        Some(Self {
            to: to?,
            only,
            sample_percent,
        })
    }
}
