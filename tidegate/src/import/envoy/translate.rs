//! From a tree of descriptors to policies.

use std::collections::HashMap;

use tidegate_policy::reading::{Report, Spanned, quoted};

use super::document::{Descriptor, Domain, RateLimit, Rule};
use crate::import::names::Names;
use crate::import::remarks::{NOTHING_PASSES, Remarks};
use crate::import::writing::{Entry, Limit, Mode, Policy};

/// The policies that say what `domains` say.
pub(super) fn policies(domains: &[Domain], report: &Report<'_>, remarks: &mut Remarks) -> Vec<Policy> {
    let mut drafts = Vec::new();
    for domain in domains {
        let first = drafts.len();
        let mut path = Vec::new();
        for descriptor in &domain.descriptors {
            walk(domain, descriptor, &mut path, &mut drafts, remarks);
        }
        match drafts.get_mut(first) {
            Some(draft) => {
                let place = report.place_in_words(domain.name.at);
                let heading = format!("Domain {} ({place}).", domain.name.value);
                draft.policy.comment.insert(0, heading);
            }
            None => {
                let remark = "this domain limits nothing, and there is no policy for it";
                remarks.add(domain.name.at, remark);
            }
        }
    }
    name(&mut drafts);
    resolve(&mut drafts, remarks);
    drafts.into_iter().map(|draft| draft.policy).collect()
}

/// A policy in the making.
struct Draft<'d> {
    policy: Policy,
    /// Domain, keys and values, as ratelimit calls it in its metrics.
    path: String,
    /// What made it, if that has a limit.
    limit: Option<&'d RateLimit>,
}

impl<'d> Draft<'d> {
    /// What its limit is called in the file.
    fn limit_name(&self) -> Option<&'d Spanned<String>> {
        self.limit.and_then(|limit| limit.name.as_ref())
    }
}

/// Drafts for `descriptor`, which stands below `path`, and for all below it, in the order of the file: patterns are tried in that order.
fn walk<'d>(
    domain: &'d Domain,
    descriptor: &'d Descriptor,
    path: &mut Vec<&'d Descriptor>,
    drafts: &mut Vec<Draft<'d>>,
    remarks: &mut Remarks,
) {
    path.push(descriptor);
    let earlier = drafts.len();
    if let Some(limit) = &descriptor.limit {
        drafts.push(draft(domain, path, Some(limit)));
        if matches!(limit.rule, Rule::Requests { per_unit: 0, .. }) {
            remarks.add(limit.at, NOTHING_PASSES);
        }
    }
    for child in &descriptor.descriptors {
        walk(domain, child, path, drafts, remarks);
    }
    if drafts.len() == earlier {
        // No policy makes a place for it in the look-up, where it would keep its value from those for other values.
        if descriptor.value.is_some() {
            let mut draft = draft(domain, path, None);
            let comment = "No limit of its own, and none of those for other values.";
            draft.policy.comment.push(comment.to_owned());
            drafts.push(draft);
        } else if descriptor.descriptors.is_empty() {
            let name = quoted(&descriptor.key);
            let remark =
                format!("{name} has neither a limit nor descriptors and is left out: it limits nothing");
            remarks.add(descriptor.at, remark);
        }
    }
    path.pop();
}

fn draft<'d>(domain: &Domain, path: &[&'d Descriptor], limit: Option<&'d RateLimit>) -> Draft<'d> {
    let entry = |descriptor: &&Descriptor| Entry {
        key: descriptor.key.clone(),
        value: descriptor.value.clone(),
    };
    let at = path.last().map_or(domain.name.at, |descriptor| descriptor.at);
    let is_shadow = path.last().is_some_and(|descriptor| descriptor.shadow_mode);
    let rule = limit.map_or(Rule::Unlimited, |limit| limit.rule);
    let steps = path.iter().map(|descriptor| descriptor.joined());
    let steps: Vec<String> = std::iter::once(domain.name.value.clone()).chain(steps).collect();
    Draft {
        policy: Policy {
            at,
            comment: Vec::new(),
            name: String::new(),
            domain: domain.name.value.clone(),
            descriptor: path.iter().map(entry).collect(),
            when: None,
            key: match rule {
                Rule::Unlimited => Vec::new(),
                Rule::Requests { .. } => key(path),
            },
            limit: match rule {
                Rule::Unlimited => Limit::Unlimited,
                Rule::Requests { per_unit, seconds } => Limit::requests(u64::from(per_unit), seconds),
            },
            mode: if is_shadow && rule != Rule::Unlimited {
                Mode::Shadow
            } else {
                Mode::Enforce
            },
            replaces: Vec::new(),
        },
        path: steps.join("."),
        limit,
    }
}

/// What is counted by: the whole descriptor, which is the default, or what is left of it where all values of an entry share a counter.
fn key(path: &[&Descriptor]) -> Vec<String> {
    if !path.iter().any(|descriptor| descriptor.share_threshold) {
        return Vec::new();
    }
    let own = path.iter().enumerate();
    let own = own.filter(|(_, descriptor)| !descriptor.share_threshold);
    let parts: Vec<String> = own.map(|(place, _)| format!("descriptor[{place}]")).collect();
    if parts.is_empty() {
        vec![r#""all""#.to_owned()]
    } else {
        parts
    }
}

/// Names all drafts. A name that one limit alone has in its file is its policy's; others are called by their path.
fn name(drafts: &mut [Draft<'_>]) {
    let mut namesakes: HashMap<&str, usize> = HashMap::new();
    for name in drafts.iter().filter_map(Draft::limit_name) {
        *namesakes.entry(&name.value).or_default() += 1;
    }
    let mut names = Names::default();
    let own = |draft: &Draft<'_>| {
        draft
            .limit_name()
            .is_some_and(|name| namesakes[&*name.value] == 1)
    };
    for draft in drafts.iter_mut().filter(|draft| own(draft)) {
        if let Some(name) = draft.limit_name() {
            draft.policy.name = names.give(&name.value);
        }
    }
    for draft in drafts.iter_mut().filter(|draft| !own(draft)) {
        draft.policy.name = names.give(&draft.path);
    }
    for draft in drafts {
        if let Some(name) = draft.limit_name().filter(|name| name.value != draft.policy.name) {
            draft
                .policy
                .comment
                .push(format!("Named {}.", quoted(&name.value)));
        }
    }
}

/// Turns names of limits in `replaces` into names of policies. Limits of another domain never meet in one call.
fn resolve(drafts: &mut [Draft<'_>], remarks: &mut Remarks) {
    let mut named: HashMap<(String, &str), Vec<String>> = HashMap::new();
    for draft in drafts.iter() {
        if let Some(name) = draft.limit_name() {
            let key = (draft.policy.domain.clone(), &*name.value);
            named.entry(key).or_default().push(draft.policy.name.clone());
        }
    }
    for draft in drafts {
        for replaced in draft.limit.iter().flat_map(|limit| &limit.replaces) {
            match named.get(&(draft.policy.domain.clone(), &*replaced.value)) {
                Some(policies) => draft.policy.replaces.extend(policies.iter().cloned()),
                None => {
                    let name = quoted(&replaced.value);
                    let remark =
                        format!("no limit of this domain is named {name}, and replacing it is left out");
                    remarks.add(replaced.at, remark);
                }
            }
        }
    }
}
