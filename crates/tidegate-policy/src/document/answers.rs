//! `answers`, as typed.

use super::fields::Fields;
use super::node::{Node, Spanned};
use super::reject::RejectText;
use super::report::Report;
use super::scalar;
use crate::{RateLimitForm, XRateLimit};

/// `answers`, as typed.
#[derive(Debug, Default)]
pub(crate) struct AnswersText {
    pub(crate) rate_limit: Option<Spanned<RateLimitForm>>,
    pub(crate) x_rate_limit: Option<Spanned<XRateLimit>>,
    pub(crate) retry_jitter_percent: Option<Spanned<u64>>,
    /// That of policies without one of their own.
    pub(crate) reject: Option<RejectText>,
}

impl AnswersText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`answers`", report)?;
        let answers = Self {
            rate_limit: fields.read("rate_limit", report, |node, report| {
                let words = [
                    ("draft-11", RateLimitForm::Draft11),
                    ("draft-07", RateLimitForm::Draft07),
                    ("omit", RateLimitForm::Omit),
                ];
                scalar::choice(node, &words, report)
            }),
            x_rate_limit: fields.read("x_rate_limit", report, |node, report| {
                let words = [("epoch", XRateLimit::EpochSeconds), ("omit", XRateLimit::Omit)];
                scalar::choice(node, &words, report)
            }),
            reject: fields.read("reject", report, RejectText::read),
            retry_jitter_percent: fields.read("retry_jitter_percent", report, scalar::integer),
        };
        fields.finish(report);
        Some(answers)
    }
}
