//! What each of `policies` means, and whether they fit together.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_core::{Cost, KeyHasher, Limit, MAX_CHARGES, Mode};

use super::consistency::{Counting, counting};
use super::{access, body, call, expression, key, limit, matching, overrides, reject, schedule, scope};
use crate::answer::reject::Reject;
use crate::config::IdentitySettings;
use crate::document::identity::IdentityText;
use crate::document::limit::LimitText;
use crate::document::node::{Place, Spanned};
use crate::document::policy::{CostText, OnError, PolicyText};
use crate::document::report::{Report, quoted};
use crate::document::store::StoreText;
use crate::expression::Use;
use crate::policy::{Consistency, Policy, PolicyLimit};
use crate::set::bound::Bound;
use crate::set::call_bound::Crowd;
use crate::set::key::Recipe;
use crate::set::{Expressions, Parts, PolicySet};
use crate::{ExpressionField, Prefixes, Tier};

/// The longest name of a policy or tier.
const MAX_NAME_BYTES: usize = 64;

/// How many policies an error names.
const MAX_NAMES_SHOWN: usize = 8;

/// The most tiers of a policy.
const MAX_TIERS: usize = 64;

/// A policy without errors, and where it stands.
pub(super) struct Right {
    at: Place,
    parts: Parts,
}

/// What every policy in `texts` means. Those with errors are left out, the errors are in `report`.
pub(super) fn policies(
    texts: &[PolicyText],
    identity: &IdentityText,
    store: Option<&StoreText>,
    report: &mut Report<'_>,
) -> Vec<Right> {
    let mut places: HashMap<&str, Place> = HashMap::new();
    for name in texts.iter().filter_map(|text| text.name.as_ref()) {
        if let Some(earlier) = places.insert(&name.value, name.at) {
            let line = report.line_in_words(earlier);
            let message = format!(
                "the name {} is taken by the policy in {line}",
                quoted(&name.value)
            );
            report.error(
                name.at,
                message,
                "give each policy a name of its own: counters are named by it",
            );
        }
    }
    let right = |text| right(text, texts, identity, store, report);
    texts.iter().filter_map(right).collect()
}

/// The set of all policies that are right. If others are not, the file is not used, but what these do together is told too.
pub(super) fn set(
    policies: Vec<Right>,
    identity: &IdentitySettings,
    usual_reject: Option<&Arc<Reject>>,
    usual: Consistency,
    hasher: &KeyHasher,
    report: &mut Report<'_>,
) -> PolicySet {
    let (places, mut parts): (Vec<_>, Vec<_>) = policies
        .into_iter()
        .map(|policy| (policy.at, policy.parts))
        .unzip();
    for parts in &mut parts {
        let own = parts.policy.reject.take();
        parts.policy.reject = own.or_else(|| usual_reject.cloned());
    }
    let patterns = places.iter().copied().zip(&parts);
    let patterns = patterns.filter_map(|(at, parts)| Some((at, parts.call.as_ref()?)));
    call::bound_patterns(patterns, report);
    let set = PolicySet::new(parts, usual, hasher, Prefixes::ipv6(identity.ipv6_prefix));
    bound_charges(&set, &places, report);
    bound_charges_of_calls(&set, &places, report);
    set
}

fn bound_charges(set: &PolicySet, places: &[Place], report: &mut Report<'_>) {
    match set.bound() {
        Bound::Fits => {}
        Bound::TooMany(policies) => {
            let (at, shown) = shown(&policies, set, places);
            let count = policies.len();
            let message = format!(
                "one request can match {count} policies with more than {MAX_CHARGES} limits together: {shown}"
            );
            let cure = "narrow their `match` by path, host or method, or let one policy count many clients by its `key`";
            report.error(at, message, cure);
        }
        Bound::Unknown => {
            let message = "the policies combine in too many ways to count the charges of a request";
            let cure = format!(
                "use fewer `*` and fewer methods: a request that meets more than {MAX_CHARGES} limits is refused"
            );
            report.warning(Place::START, message, cure);
        }
    }
}

fn bound_charges_of_calls(set: &PolicySet, places: &[Place], report: &mut Report<'_>) {
    for crowd in set.crowds() {
        match crowd {
            Crowd::Always(policies) => {
                let (at, shown) = shown(&policies, set, places);
                let count = policies.len();
                let message = format!(
                    "a call meets {count} policies with more than {MAX_CHARGES} limits together, and is always refused: {shown}"
                );
                let cure = "narrow their `match` by descriptor or their `when`, or let one policy count many clients by its `key`";
                report.error(at, message, cure);
            }
            Crowd::Perhaps(policies) => {
                let (at, shown) = shown(&policies, set, places);
                let count = policies.len();
                let message = format!(
                    "a call may meet {count} policies with more than {MAX_CHARGES} limits together: {shown}"
                );
                let cure = "see that no call meets so many, for it would be refused";
                report.warning(at, message, cure);
            }
        }
    }
}

/// Where the last of `policies` stands, and the names of some.
fn shown(policies: &[usize], set: &PolicySet, places: &[Place]) -> (Place, String) {
    let last = policies.last().and_then(|last| places.get(*last));
    let names = policies.iter().take(MAX_NAMES_SHOWN);
    let names: Vec<&str> = names.map(|policy| &*set.policies()[*policy].name).collect();
    let rest = if policies.len() > MAX_NAMES_SHOWN {
        ", …"
    } else {
        ""
    };
    (last.copied().unwrap_or(Place::START), names.join(", ") + rest)
}

fn right(
    text: &PolicyText,
    all: &[PolicyText],
    identity: &IdentityText,
    store: Option<&StoreText>,
    report: &mut Report<'_>,
) -> Option<Right> {
    let earlier_errors = report.errors();
    let counting = counting(text, store, report);
    let replaces = judge_call(text, all, report);
    let parts = parts(text, identity, counting, report)?;
    let parts = Parts { replaces, ..parts };
    let is_right = text.is_right && report.errors() == earlier_errors;
    is_right.then_some(Right { at: text.at, parts })
}

/// Judges what the policy in `text` says of calls of the rate limit service, or of requests where it is about those. The names of policies
/// that it replaces.
fn judge_call(text: &PolicyText, all: &[PolicyText], report: &mut Report<'_>) -> Vec<String> {
    let call = text.matching.call.as_ref();
    if call.is_some() {
        call::refuse_parts_of_requests(text, report);
    }
    if call.is_none_or(|call| call.descriptor.is_none()) {
        call::refuse_parts_of_descriptors(text, report);
        return Vec::new();
    }
    call::judge_unlimited(text, report);
    call::replaces(text, all, report)
}

fn parts(
    text: &PolicyText,
    identity: &IdentityText,
    counting: Counting,
    report: &mut Report<'_>,
) -> Option<Parts> {
    let name = text
        .name
        .as_ref()
        .and_then(|name| checked_name(name, "a policy", report));
    let call = text.matching.call.as_ref();
    let call = call.map(|call| call::pattern(call, report));
    let paths = matching::paths(&text.matching.path, report);
    let hosts = matching::hosts(&text.matching.host, report);
    let conditions = matching::conditions(&text.matching, report);
    let recipe = key::recipe(text, &paths, identity, report);
    let expressions = expressions(text, report);
    let body = body::rule(text, &conditions, recipe.as_ref(), &expressions, report);
    let terms = TermsOf {
        name: name.unwrap_or("policy"),
        cost: text.fixed_cost(),
        counting,
    };
    let limits = terms.limits(&text.limits, report);
    let tiers = tiers(terms, text, identity, report);
    let overrides = overrides::overrides(terms, text, identity, report);
    let policy = Policy {
        name: name?.into(),
        scope: scope::in_words(text).into(),
        mode: text.mode.as_ref().map_or(Mode::default(), |mode| mode.value),
        cost: cost(text.fixed_cost(), report),
        expressions: fields_with(&expressions, recipe.as_ref()),
        consistency: counting.consistency,
        on_store_failure: counting.on_store_failure,
        local_share: counting.local_share,
        limits,
        tiers,
        overrides,
        reject: text.reject.as_ref().map(|text| reject::reject(text, report)),
    };
    Some(Parts {
        policy,
        hosts,
        paths,
        conditions,
        recipe: recipe?,
        exempt: access::exempt(&text.exempt, identity, report),
        expressions,
        schedule: text.schedule.as_deref().map(schedule::schedule),
        body,
        call: match call {
            Some(call) => Some(call?),
            None => None,
        },
        replaces: Vec::new(),
    })
}

/// What the expressions of a policy mean, its key aside.
fn expressions(text: &PolicyText, report: &mut Report<'_>) -> Expressions {
    let about = call::about(&text.matching);
    let when = text
        .when
        .as_ref()
        .and_then(|when| expression::expression(when, about, Use::Condition, report));
    let cost = match &text.cost {
        Some(CostText::Computed(cost)) => expression::expression(cost, about, Use::Cost, report),
        Some(CostText::Fixed(_)) | None => None,
    };
    let has_none = text.when.is_none() && !matches!(text.cost, Some(CostText::Computed(_)));
    if let (Some(on_error), true) = (&text.on_error, has_none) {
        let message = "`on_error` says nothing here: there is no `when`, and the cost is a number";
        report.warning(on_error.at, message, "remove it");
    }
    Expressions {
        when,
        cost,
        on_error: text
            .on_error
            .as_ref()
            .map_or(OnError::default(), |said| said.value),
    }
}

/// Which fields have an expression.
fn fields_with(expressions: &Expressions, recipe: Option<&Recipe>) -> Vec<ExpressionField> {
    let mut fields = ExpressionField::ALL.to_vec();
    fields.retain(|field| match field {
        ExpressionField::When => expressions.when.is_some(),
        ExpressionField::Key => recipe.is_some_and(Recipe::has_expressions),
        ExpressionField::Cost => expressions.cost.is_some(),
    });
    fields
}

/// The limits of each tier.
fn tiers(
    terms: TermsOf<'_>,
    text: &PolicyText,
    identity: &IdentityText,
    report: &mut Report<'_>,
) -> Vec<(Tier, Vec<PolicyLimit>)> {
    if let (Some((tier, _)), false) = (text.tiers.first(), identity.proves) {
        let message = "nobody has a tier here: tiers come with API keys and tokens";
        let cure = "add `identity: { api_key: … }` or `identity: { jwt: … }`, or remove `tiers`";
        report.warning(tier.at, message, cure);
    }
    if let Some((tier, _)) = text.tiers.get(MAX_TIERS) {
        let message = format!("a policy has at most {MAX_TIERS} tiers");
        report.error(tier.at, message, "remove some");
    }
    let mut tiers = Vec::new();
    for (tier, texts) in &text.tiers {
        let limits = terms.limits(texts, report);
        if let Some(tier) = checked_name(tier, "a tier", report) {
            tiers.push((tier.into(), limits));
        }
    }
    tiers
}

fn cost(text: Option<&Spanned<u64>>, report: &mut Report<'_>) -> Cost {
    let Some(cost) = text else {
        return Cost::default();
    };
    if cost.value == 0 {
        let message = "a cost of 0 only looks: nothing is ever refused";
        report.warning(cost.at, message, "write at least 1");
    }
    Cost::new(cost.value)
}

/// What the limits of a policy, those of its tiers and overrides included, have in common.
#[derive(Clone, Copy)]
pub(super) struct TermsOf<'t> {
    /// The policy's name: limits are labelled after it.
    name: &'t str,
    /// What every request costs, if that is known.
    cost: Option<&'t Spanned<u64>>,
    counting: Counting,
}

impl TermsOf<'_> {
    /// The limits in `texts`.
    pub(super) fn limits(self, texts: &[LimitText], report: &mut Report<'_>) -> Vec<PolicyLimit> {
        let mut limits = Vec::new();
        for (text, number) in texts.iter().zip(1..) {
            let Some(limit) = limit::limit(text, report) else {
                continue;
            };
            self.judge_cost(&limit, text, report);
            self.counting.check(&limit, text, report);
            let label = if texts.len() == 1 {
                self.name.to_owned()
            } else {
                format!("{}/{number}", self.name)
            };
            let share = self.counting.local(&limit, text, report);
            limits.push(PolicyLimit {
                share,
                ..PolicyLimit::new(&label, self.counting.after_loss(limit))
            });
        }
        limits
    }

    fn judge_cost(self, limit: &Limit, text: &LimitText, report: &mut Report<'_>) {
        let Some(cost) = self.cost.filter(|cost| cost.value > limit.capacity()) else {
            return;
        };
        let (cost, capacity) = (cost.value, limit.capacity());
        report.error(
            text.at,
            format!("a cost of {cost} is more than this limit ever holds: {capacity}"),
            "raise `burst` (or `quota`) to the cost, or lower the cost",
        );
    }
}

/// `name`, if it can stand in headers, logs and metrics as it is.
pub(super) fn checked_name<'n>(
    name: &'n Spanned<String>,
    what: &str,
    report: &mut Report<'_>,
) -> Option<&'n str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.value.len() <= MAX_NAME_BYTES && name.value.bytes().all(allowed) {
        return Some(&name.value);
    }
    let message = format!("{} cannot be the name of {what}", quoted(&name.value));
    let cure = format!("write letters, digits, `_`, `-` and `.`, at most {MAX_NAME_BYTES}");
    report.error(name.at, message, cure);
    None
}
