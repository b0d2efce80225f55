//! One policy, as typed.

use tidegate_core::Mode;

use super::access::{EntryText, entries};
use super::body::BodyText;
use super::fields::{Fields, one_or_many};
use super::gateway::texts;
use super::limit::LimitText;
use super::matching::MatchText;
use super::node::{Node, Place, Spanned, Value};
use super::overrides::{OverrideText, overrides};
use super::reject::RejectText;
use super::report::Report;
use super::scalar;
use super::schedule::{SpanText, schedule};
use crate::policy::{Consistency, OnStoreFailure};

/// One of `policies`, as typed.
#[derive(Debug)]
pub(crate) struct PolicyText {
    pub(crate) at: Place,
    /// Whether all of it could be read.
    pub(crate) is_right: bool,
    /// None if it is missing or wrong, which has been reported.
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) matching: MatchText,
    /// None if it is missing or wrong, which has been reported, or if it is missing where it need not be written.
    pub(crate) key: Option<Vec<Spanned<String>>>,
    /// Whether `key` is written, be it right or wrong.
    pub(crate) has_key: bool,
    pub(crate) on_missing: Option<Spanned<OnMissing>>,
    pub(crate) body: Option<BodyText>,
    /// Empty if they are missing or wrong, which has been reported.
    pub(crate) limits: Vec<LimitText>,
    /// Where `limit: unlimited` stands, if it does.
    pub(crate) unlimited: Option<Place>,
    /// The names of policies that do not count where this one speaks.
    pub(crate) replaces: Vec<Spanned<String>>,
    pub(crate) tiers: Vec<(Spanned<String>, Vec<LimitText>)>,
    pub(crate) overrides: Vec<OverrideText>,
    /// Which requests it counts of those that match, as an expression.
    pub(crate) when: Option<Spanned<String>>,
    pub(crate) cost: Option<CostText>,
    pub(crate) on_error: Option<Spanned<OnError>>,
    pub(crate) mode: Option<Spanned<Mode>>,
    pub(crate) consistency: Option<Spanned<Consistency>>,
    pub(crate) on_store_failure: Option<Spanned<OnStoreFailure>>,
    pub(crate) local_share: Option<Spanned<String>>,
    /// What is said when one of its limits is used up.
    pub(crate) reject: Option<RejectText>,
    /// Whom it does not count.
    pub(crate) exempt: Vec<EntryText>,
    /// When it speaks; always, if none is written.
    pub(crate) schedule: Option<Vec<SpanText>>,
}

/// What happens when a request lacks a part of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnMissing {
    /// It is refused.
    #[default]
    Deny,
    /// This policy does not count it.
    Skip,
    /// The client's address stands in for the part.
    Fallback,
}

/// What a request costs.
#[derive(Debug)]
pub(crate) enum CostText {
    /// Always this.
    Fixed(Spanned<u64>),
    /// What this expression says.
    Computed(Spanned<String>),
}

impl CostText {
    pub(crate) fn at(&self) -> Place {
        match self {
            Self::Fixed(cost) => cost.at,
            Self::Computed(cost) => cost.at,
        }
    }
}

/// What happens when `when` or `cost` cannot be computed for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnError {
    /// It is refused.
    #[default]
    Deny,
    /// This policy does not count it.
    Skip,
}

impl PolicyText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let earlier_errors = report.errors();
        let mut fields = Fields::of(node, "a policy", report)?;
        let name = fields.require("name", "api", report);
        let matching = fields
            .take("match")
            .map_or_else(MatchText::default, |node| MatchText::read(node, report));
        let key = match &matching.call {
            None => fields.require("key", "[client.ip]", report),
            Some(_) => fields.take("key"),
        };
        let one = fields.take("limit");
        let unlimited = one.filter(|limit| is_unlimited(limit)).map(|limit| limit.at);
        let mut policy = Self {
            at: node.at,
            is_right: false,
            name: name.and_then(|name| scalar::text(name, report)),
            matching,
            has_key: key.is_some(),
            key: key.and_then(|key| texts(key, report)),
            on_missing: fields.read("on_missing", report, on_missing),
            body: fields.read("body", report, BodyText::read),
            limits: match unlimited {
                None => limits_beside(one, &mut fields, "a policy", report),
                Some(_) => beside_unlimited(&mut fields, report),
            },
            unlimited,
            replaces: fields.read("replaces", report, texts).unwrap_or_default(),
            tiers: fields.read("tiers", report, tiers).unwrap_or_default(),
            overrides: fields.read("overrides", report, overrides).unwrap_or_default(),
            when: fields.read("when", report, scalar::text),
            cost: fields.read("cost", report, cost),
            on_error: fields.read("on_error", report, on_error),
            mode: fields.read("mode", report, mode),
            consistency: fields.read("consistency", report, consistency),
            on_store_failure: fields.read("on_store_failure", report, on_store_failure),
            local_share: fields.read("local_share", report, scalar::text),
            reject: fields.read("reject", report, RejectText::read),
            exempt: fields.read("exempt", report, entries).unwrap_or_default(),
            schedule: fields.read("schedule", report, schedule),
        };
        fields.finish(report);
        policy.is_right = report.errors() == earlier_errors;
        Some(policy)
    }

    /// The cost, if it is known before any request comes.
    pub(crate) fn fixed_cost(&self) -> Option<&Spanned<u64>> {
        match &self.cost {
            Some(CostText::Fixed(cost)) => Some(cost),
            Some(CostText::Computed(_)) | None => None,
        }
    }
}

/// The word in place of a limit where there is none.
const UNLIMITED: &str = "unlimited";

fn is_unlimited(limit: &Node) -> bool {
    matches!(&limit.value, Value::Text(text) if text == UNLIMITED)
}

/// `limit` or `limits`, of which `what` has one.
pub(super) fn limits(fields: &mut Fields<'_>, what: &str, report: &mut Report<'_>) -> Vec<LimitText> {
    let one = fields.take("limit");
    limits_beside(one, fields, what, report)
}

/// `limits` beside `limit: unlimited`, which there must not be.
fn beside_unlimited(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Vec<LimitText> {
    let Some(several) = fields.take("limits") else {
        return Vec::new();
    };
    let at = fields.place("limits").unwrap_or(several.at);
    let message = "a policy is `unlimited` or has limits, not both";
    report.error(at, message, "remove one of them");
    several_limits(several, report)
}

/// The same where `limit` has been taken.
fn limits_beside(
    one: Option<&Node>,
    fields: &mut Fields<'_>,
    what: &str,
    report: &mut Report<'_>,
) -> Vec<LimitText> {
    match (one, fields.take("limits")) {
        (Some(one), None) => LimitText::read(one, report).into_iter().collect(),
        (None, Some(several)) => several_limits(several, report),
        (Some(one), Some(several)) => {
            let at = fields.place("limits").unwrap_or(several.at);
            let message = format!("{what} has `limit` or `limits`, not both");
            report.error(at, message, "write all of them under `limits`, as a list");
            let one = LimitText::read(one, report).into_iter();
            one.chain(several_limits(several, report)).collect()
        }
        (None, None) => {
            let message = format!("{what} has no `limit`");
            report.error(fields.at(), message, "add `limit: { quota: 60, window: 1m }`");
            Vec::new()
        }
    }
}

fn several_limits(node: &Node, report: &mut Report<'_>) -> Vec<LimitText> {
    let items = one_or_many(node);
    if items.is_empty() {
        report.error(
            node.at,
            "this list is empty",
            "write at least one limit: `{ quota: 60, window: 1m }`",
        );
    }
    items
        .iter()
        .filter_map(|item| LimitText::read(item, report))
        .collect()
}

fn tiers(node: &Node, report: &mut Report<'_>) -> Option<Vec<(Spanned<String>, Vec<LimitText>)>> {
    let Value::Map(entries) = &node.value else {
        let message = format!("`tiers` is a mapping, and this is {}", node.value.kind());
        report.error(
            node.at,
            message,
            "write `name: { quota: 600, window: 1m }` for each tier",
        );
        return None;
    };
    let limits = |(name, node): &(Spanned<String>, Node)| (name.clone(), several_limits(node, report));
    Some(entries.iter().map(limits).collect())
}

fn cost(node: &Node, report: &mut Report<'_>) -> Option<CostText> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match &node.value {
        Value::Text(text) if !is_number(text) => scalar::text(node, report).map(CostText::Computed),
        _ => scalar::integer(node, report).map(CostText::Fixed),
    }
}

fn on_error(node: &Node, report: &mut Report<'_>) -> Option<Spanned<OnError>> {
    scalar::choice(node, &[("deny", OnError::Deny), ("skip", OnError::Skip)], report)
}

fn mode(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Mode>> {
    scalar::choice(
        node,
        &[("enforce", Mode::Enforce), ("shadow", Mode::Shadow)],
        report,
    )
}

fn on_missing(node: &Node, report: &mut Report<'_>) -> Option<Spanned<OnMissing>> {
    let words = [
        ("deny", OnMissing::Deny),
        ("skip", OnMissing::Skip),
        ("fallback", OnMissing::Fallback),
    ];
    scalar::choice(node, &words, report)
}

pub(super) fn on_store_failure(node: &Node, report: &mut Report<'_>) -> Option<Spanned<OnStoreFailure>> {
    let words = [
        ("allow", OnStoreFailure::Allow),
        ("deny", OnStoreFailure::Deny),
        ("local", OnStoreFailure::Local),
    ];
    scalar::choice(node, &words, report)
}

pub(super) fn consistency(node: &Node, report: &mut Report<'_>) -> Option<Spanned<Consistency>> {
    let words = [
        ("local", Some(Consistency::Local)),
        ("strict", Some(Consistency::Strict)),
        ("leased", None),
        ("replicated", None),
    ];
    let said = scalar::choice(node, &words, report)?;
    if said.value.is_none() {
        let message = "this consistency is not available in this version";
        report.error(node.at, message, "write `strict` or `local`, or remove the field");
    }
    let value = said.value?;
    Some(Spanned { value, at: said.at })
}
