//! What a policy about calls of the rate limit service means.

use std::collections::{HashMap, HashSet};

use super::expression::{expression, is_expression};
use super::key::{MAX_PARTS, warn_if_twice};
use crate::document::descriptor::{CallText, DescriptorText, LevelText};
use crate::document::matching::MatchText;
use crate::document::node::{Place, Spanned};
use crate::document::policy::{OnMissing, PolicyText};
use crate::document::report::{Report, nearest, quoted};
use crate::expression::{About, Use};
use crate::set::descriptors::{CallPattern, Level};
use crate::set::key::{From, Part};

/// The most entries of a descriptor in `match`.
const MAX_LEVELS: usize = 16;

/// The longest domain, key or value of an entry.
const MAX_TEXT_BYTES: usize = 1024;

/// The most `*` in a value.
const MAX_STARS: usize = 16;

/// The most values with `*` that one entry is tried against.
const MAX_PATTERNS: usize = 128;

/// The most policies that one replaces.
const MAX_REPLACED: usize = 64;

/// What parts of keys look like here, for cures.
const PARTS: &str = "a part is `descriptor`, `descriptor.<key>`, `descriptor[<place>]` or an expression such as `descriptors[0][\"user\"]`";

/// What the expressions of a policy are about.
pub(super) fn about(matching: &MatchText) -> About {
    match &matching.call {
        None => About::Requests,
        Some(call) if call.descriptor.is_none() => About::Calls,
        Some(_) => About::Descriptors,
    }
}

/// Which calls a policy speaks about. None, after an error, if that cannot be said.
pub(super) fn pattern(call: &CallText, report: &mut Report<'_>) -> Option<CallPattern> {
    if !call.has_domain {
        let message = "a descriptor is one of a domain, and there is none";
        report.error(
            call.at,
            message,
            "add the `domain` that the caller names: `domain: shop`",
        );
    }
    let domain = call
        .domain
        .as_ref()
        .filter(|domain| is_short("a domain", domain, report));
    let levels = match &call.descriptor {
        None => None,
        Some(descriptor) => Some(levels(descriptor, report)?),
    };
    Some(CallPattern {
        domain: domain?.value.clone(),
        levels,
    })
}

fn levels(descriptor: &DescriptorText, report: &mut Report<'_>) -> Option<Vec<Level>> {
    let earlier_errors = report.errors();
    if let Some(beyond) = descriptor.levels.get(MAX_LEVELS) {
        let message = format!("a descriptor has at most {MAX_LEVELS} entries here");
        report.error(beyond.key.at, message, "remove some");
    }
    let levels: Vec<Level> = descriptor.levels.iter().map(|text| level(text, report)).collect();
    (descriptor.is_right && report.errors() == earlier_errors).then_some(levels)
}

fn level(text: &LevelText, report: &mut Report<'_>) -> Level {
    if is_short("a key", &text.key, report) && text.key.value.is_empty() {
        report.error(text.key.at, "an entry has a key", "write it: `remote_address`");
    }
    if text.key.value.contains('*') {
        let message = "a `*` in a key is no pattern";
        report.error(
            text.key.at,
            message,
            "write it into the value: `{ path: /api/* }`",
        );
    }
    if let Some(value) = &text.value
        && is_short("a value", value, report)
        && value.value.matches('*').count() > MAX_STARS
    {
        let message = format!("a value has at most {MAX_STARS} `*`");
        report.error(
            value.at,
            message,
            "write fewer: one stands for any run of characters",
        );
    }
    Level {
        key: text.key.value.clone(),
        value: text.value.as_ref().map(|value| value.value.clone()),
    }
}

fn is_short(what: &str, text: &Spanned<String>, report: &mut Report<'_>) -> bool {
    let is_short = text.value.len() <= MAX_TEXT_BYTES;
    if !is_short {
        let message = format!("{what} has at most {MAX_TEXT_BYTES} bytes here");
        report.error(text.at, message, "write a shorter one");
    }
    is_short
}

/// Refuses what only requests have, in a policy about calls.
pub(super) fn refuse_parts_of_requests(text: &PolicyText, report: &mut Report<'_>) {
    let matching = &text.matching;
    let texts = |texts: &[Spanned<String>]| texts.first().map(|text| text.at);
    let foreign = [
        ("method", texts(&matching.method)),
        ("host", texts(&matching.host)),
        ("path", texts(&matching.path)),
        ("headers", matching.headers.first().map(|field| field.name.at)),
        ("query", matching.query.first().map(|field| field.name.at)),
        ("cookies", matching.cookies.first().map(|field| field.name.at)),
        ("body", matching.body.first().map(|field| field.name.at)),
        ("body", text.body.as_ref().map(|body| body.at)),
        ("exempt", text.exempt.first().map(|entry| entry.at)),
        ("tiers", text.tiers.first().map(|(tier, _)| tier.at)),
        ("overrides", text.overrides.first().map(|special| special.at)),
    ];
    for (name, at) in foreign {
        let Some(at) = at else { continue };
        let message =
            format!("`{name}` is of requests, and this policy is about calls of the rate limit service");
        let cure = "remove it, or remove `domain`: a policy is about requests or about calls";
        report.error(at, message, cure);
    }
    if let Some(on_missing) = &text.on_missing
        && on_missing.value == OnMissing::Fallback
    {
        let message = "nothing can stand in for a part here: a call has no client's address of its own";
        report.error(on_missing.at, message, "write `skip` or `deny`");
    }
}

/// Refuses what only policies about descriptors have, in any other.
pub(super) fn refuse_parts_of_descriptors(text: &PolicyText, report: &mut Report<'_>) {
    let cure = "add `match: { domain: …, descriptor: … }`, or remove it";
    if let Some(at) = text.unlimited {
        let message = "`unlimited` is said of descriptors, and this policy is about none";
        report.error(
            at,
            message,
            "write a limit, or add `match: { domain: …, descriptor: … }`",
        );
    }
    if let Some(first) = text.replaces.first() {
        let message = "`replaces` is said of descriptors, and this policy is about none";
        report.error(first.at, message, cure);
    }
}

/// Warns of what says nothing because nothing is counted.
pub(super) fn judge_unlimited(text: &PolicyText, report: &mut Report<'_>) {
    if text.unlimited.is_none() {
        return;
    }
    let cost = text.cost.as_ref().map(|cost| cost.at());
    let said = [
        (
            "key",
            text.key.as_ref().and_then(|key| key.first()).map(|part| part.at),
        ),
        ("on_missing", text.on_missing.as_ref().map(|said| said.at)),
        ("cost", cost),
        ("mode", text.mode.as_ref().map(|said| said.at)),
        ("consistency", text.consistency.as_ref().map(|said| said.at)),
        (
            "on_store_failure",
            text.on_store_failure.as_ref().map(|said| said.at),
        ),
        ("local_share", text.local_share.as_ref().map(|said| said.at)),
    ];
    for (name, at) in said {
        if let Some(at) = at {
            let message = format!("`{name}` says nothing here: what is unlimited is not counted");
            report.warning(at, message, "remove it");
        }
    }
}

/// The names of the policies that the one in `text` replaces. Names of none that it could replace are reported.
pub(super) fn replaces(text: &PolicyText, all: &[PolicyText], report: &mut Report<'_>) -> Vec<String> {
    if let Some(beyond) = text.replaces.get(MAX_REPLACED) {
        let message = format!("a policy replaces at most {MAX_REPLACED} others");
        report.error(beyond.at, message, "remove some");
    }
    let domain = |text: &PolicyText| {
        let call = text.matching.call.as_ref()?;
        call.domain.as_ref().map(|domain| domain.value.clone())
    };
    let (own, own_name) = (domain(text), text.name.as_ref().map(|name| name.value.as_str()));
    let others = all.iter().filter(|other| domain(other) == own);
    let others = others.filter_map(|other| other.name.as_ref().map(|name| name.value.as_str()));
    let others: Vec<&str> = others.filter(|name| Some(*name) != own_name).collect();
    for name in text.replaces.iter().take(MAX_REPLACED) {
        if others.contains(&name.value.as_str()) || own.is_none() {
            continue;
        }
        let shown = quoted(&name.value);
        if Some(name.value.as_str()) == own_name {
            report.error(name.at, "a policy cannot replace itself", "remove it");
            continue;
        }
        let message = format!("no other policy of this domain is called {shown}");
        let cure = match nearest(&name.value, others.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "write the name of a policy with the same `domain`".to_owned(),
        };
        report.error(name.at, message, cure);
    }
    text.replaces.iter().map(|name| name.value.clone()).collect()
}

/// The parts of a key of a policy about calls: all of the descriptor, unless something else is written.
pub(super) fn parts(text: &PolicyText, call: &CallText, report: &mut Report<'_>) -> Option<Vec<Part>> {
    let Some(texts) = &text.key else {
        let whole = call.descriptor.as_ref().map(|_| Part {
            text: "descriptor".to_owned(),
            from: From::Descriptor,
        });
        return (!text.has_key).then(|| whole.into_iter().collect());
    };
    let mut parts: Vec<Part> = Vec::new();
    for text_of_one in texts.iter().take(MAX_PARTS) {
        if let Some(part) = part(text_of_one, call, about(&text.matching), report) {
            warn_if_twice(&parts, &part, text_of_one, report);
            parts.push(part);
        }
    }
    Some(parts)
}

fn part(text: &Spanned<String>, call: &CallText, about: About, report: &mut Report<'_>) -> Option<Part> {
    let descriptor = call.descriptor.as_ref();
    let written = text.value.as_str();
    let from = match (written.strip_prefix("descriptor"), descriptor) {
        (Some(""), Some(_)) => From::Descriptor,
        (Some(rest), Some(descriptor)) if rest.starts_with('.') && !is_expression(written) => {
            From::DescriptorEntry(named(&rest[1..], text.at, descriptor, report)?)
        }
        (Some(rest), Some(descriptor)) if numbered(rest).is_some() => {
            let place = numbered(rest).filter(|place| *place < descriptor.levels.len());
            if place.is_none() && descriptor.is_right {
                let count = descriptor.levels.len();
                let message = format!("a descriptor of this policy has {count} entries, numbered from 0");
                report.error(
                    text.at,
                    message,
                    format!("write at most `descriptor[{}]`", count.max(1) - 1),
                );
            }
            From::DescriptorEntry(place?)
        }
        _ if is_expression(written) => From::Expression(expression(text, about, Use::KeyPart, report)?),
        (Some(_), None) => {
            let message = "no one descriptor is matched here: this policy is about whole calls";
            let cure = "write such as `descriptors[0][\"user\"]`, or add `match.descriptor`";
            report.error(text.at, message, cure);
            return None;
        }
        _ => {
            let message = format!("{} cannot be part of a key of calls", quoted(written));
            report.error(text.at, message, PARTS);
            return None;
        }
    };
    Some(Part {
        text: written.to_owned(),
        from,
    })
}

/// `[2]`.
fn numbered(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('[')?.strip_suffix(']')?;
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// The place of the one entry with that key.
fn named(key: &str, at: Place, descriptor: &DescriptorText, report: &mut Report<'_>) -> Option<usize> {
    let keys = descriptor.levels.iter().map(|level| level.key.value.as_str());
    let places: Vec<usize> = keys
        .clone()
        .enumerate()
        .filter(|(_, own)| *own == key)
        .map(|(place, _)| place)
        .collect();
    if let [place] = places[..] {
        return Some(place);
    }
    let shown = quoted(key);
    if let [first, ..] = places[..] {
        let message = format!("several entries of the descriptor have the key {shown}");
        report.error(at, message, format!("say which: `descriptor[{first}]`"));
    } else if descriptor.is_right {
        let message = format!("the descriptor of this policy has no entry {shown}");
        let cure = match nearest(key, keys) {
            Some(known) => format!("did you mean `descriptor.{known}`?"),
            None => "name it in `match.descriptor`, too".to_owned(),
        };
        report.error(at, message, cure);
    }
    None
}

/// Bounds how many patterns one value is tried against.
pub(super) fn bound_patterns<'p>(
    policies: impl Iterator<Item = (Place, &'p CallPattern)>,
    report: &mut Report<'_>,
) {
    let mut patterns: HashMap<(&str, &[Level], &str), HashSet<&str>> = HashMap::new();
    for (at, pattern) in policies {
        let levels = pattern.levels.as_deref().unwrap_or_default();
        for (depth, level) in levels.iter().enumerate() {
            let Some(value) = level.value.as_deref().filter(|value| value.contains('*')) else {
                continue;
            };
            let place = (pattern.domain.as_str(), &levels[..depth], level.key.as_str());
            let beside = patterns.entry(place).or_default();
            if beside.insert(value) && beside.len() == MAX_PATTERNS + 1 {
                let message = format!("an entry has at most {MAX_PATTERNS} values with `*` in one place");
                report.error(at, message, "write values without `*`, or fewer of them");
            }
        }
    }
}
