//! The limits of Limitador.

mod document;
mod expression;
mod old;
mod tokens;

use std::collections::HashMap;

use tidegate_core::MAX_CHARGES;
use tidegate_policy::reading::{Place, Report, parse_all};
use tidegate_policy::{PolicyFile, Problems};

use super::names::Names;
use super::remarks::{NOTHING_PASSES, Remarks};
use super::writing::{Limit, Mode, Policy};
use super::{Imported, made};
use document::{Identity, LimitText};
use expression::{Meaning, Names as LimitNames};

/// What differs however the files are written.
const DIFFERENCES: [&str; 2] = [
    "windows begin at multiples of their length since 1970 here; Limitador's begin with the first call after the one before",
    "where Limitador fails a call because an expression fails, its limit does not count that call here",
];

/// The policies that say what `files` say.
///
/// # Errors
/// All that is wrong with the files, and expressions that cannot be said here.
pub(super) fn import(files: &[PolicyFile<'_>]) -> Result<Imported, Problems> {
    let mut report = Report::of(files);
    let mut remarks = Remarks::default();
    let mut limits = Vec::new();
    for root in parse_all(files, &mut report) {
        limits.extend(document::limits(&root, &mut report));
    }
    leave_twins_out(&mut limits, &report, &mut remarks);
    let meanings: Vec<Meaning> = limits
        .iter()
        .filter_map(|limit| meaning(limit, &mut report, &mut remarks))
        .collect();
    if report.errors() > 0 {
        return Err(report.finish());
    }
    remark_on_many(&limits, &mut remarks);
    let policies = policies(&limits, meanings);
    match made("limitador", files, &policies, &mut report) {
        Some(text) => Ok(Imported {
            text,
            remarks: remarks.in_lines(&report, &DIFFERENCES),
        }),
        None => Err(report.finish()),
    }
}

/// Leaves out limits that Limitador cannot tell from an earlier one, and does not use.
fn leave_twins_out(limits: &mut Vec<LimitText>, report: &Report<'_>, remarks: &mut Remarks) {
    let mut places: HashMap<Identity, Place> = HashMap::new();
    limits.retain(|limit| {
        let identity = limit.identity();
        let Some(earlier) = places.get(&identity) else {
            places.insert(identity, limit.at);
            return true;
        };
        let line = report.line_in_words(*earlier);
        let remark = format!(
            "this limit is left out: to Limitador it is the limit of {line}, whatever its max_value, name and id are"
        );
        remarks.add(limit.at, remark);
        false
    });
}

/// Remarks on namespaces in which more limits may apply to one call than one call may meet.
fn remark_on_many(limits: &[LimitText], remarks: &mut Remarks) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for limit in limits {
        let count = counts.entry(&limit.namespace).or_default();
        *count += 1;
        if *count == MAX_CHARGES + 1 {
            let remark = format!(
                "this namespace has more than {MAX_CHARGES} limits; a call to which more than {MAX_CHARGES} apply is refused here"
            );
            remarks.add(limit.at, remark);
        }
    }
}

/// What the expressions of `limit` mean. None, after errors, if they cannot be said.
fn meaning(limit: &LimitText, report: &mut Report<'_>, remarks: &mut Remarks) -> Option<Meaning> {
    let names = LimitNames {
        id: limit.id.as_ref().map(|id| &*id.value),
        name: limit.name.as_ref().map(|name| &*name.value),
    };
    if limit.max_value == 0 {
        remarks.add(limit.at, NOTHING_PASSES);
    }
    Meaning::of(&limit.conditions, &limit.variables, names, report, remarks)
}

fn policies(limits: &[LimitText], meanings: Vec<Meaning>) -> Vec<Policy> {
    let mut policies: Vec<Policy> = limits
        .iter()
        .zip(meanings)
        .map(|(limit, meaning)| policy(limit, meaning))
        .collect();
    name(limits, &mut policies);
    policies
}

fn policy(limit: &LimitText, meaning: Meaning) -> Policy {
    Policy {
        at: limit.at,
        comment: Vec::new(),
        name: String::new(),
        domain: limit.namespace.clone(),
        descriptor: Vec::new(),
        when: meaning.when,
        key: meaning.key,
        limit: Limit::requests(limit.max_value, limit.seconds),
        mode: Mode::Enforce,
        replaces: Vec::new(),
    }
}

/// Names `policies` by the ids of their limits, else by their names, else by their place in the namespace.
fn name(limits: &[LimitText], policies: &mut [Policy]) {
    let mut names = Names::default();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let own = |limit: &LimitText| limit.id.clone().or_else(|| limit.name.clone());
    for (limit, policy) in limits.iter().zip(&mut *policies) {
        if let Some(own) = own(limit) {
            policy.name = names.give(&own.value);
        }
    }
    for (limit, policy) in limits.iter().zip(policies) {
        let count = counts.entry(&limit.namespace).or_default();
        *count += 1;
        if policy.name.is_empty() {
            policy.name = names.give(&format!("{}.{count}", limit.namespace));
        }
        if let Some(name) = limit.name.as_ref().filter(|name| name.value != policy.name) {
            policy.comment.push(format!("Named `{}`.", name.value));
        }
    }
}
