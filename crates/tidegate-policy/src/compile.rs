//! From what was typed to what it means.

mod access;
mod answers;
mod body;
mod call;
mod consistency;
mod doors;
mod expression;
mod forwarding;
mod free_keys;
mod gateway;
mod identity;
mod key;
mod limit;
mod listener;
mod matching;
mod named;
mod operations;
mod overrides;
mod policy;
mod reject;
mod schedule;
mod scope;
mod store;
mod upstream;

use tidegate_core::{KeyHasher, Timestamp};

use crate::document::folder;
use crate::document::node::{self, Node, Place};
use crate::document::report::Report;
use crate::{Config, Door, Listener, Problem, Problems};

/// A policy file to compile.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFile<'a> {
    /// What errors call it, a path mostly.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// A policy file that can be used.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it means.
    pub config: Config,
    /// What its writer should look at.
    pub warnings: Problems,
    /// What has an end, sorted by it, and what is to be said from then on.
    expiries: Vec<(Timestamp, Problem)>,
}

impl Compiled {
    /// The most ended things told of: more only bury the first.
    const MOST_ENDED: usize = 100;

    /// The warnings, and one for each thing in the file that has ended by `now`.
    pub fn warnings_at(&self, now: Timestamp) -> Problems {
        let mut warnings = self.warnings.clone();
        let ended = self.expiries.partition_point(|(until, _)| *until <= now);
        warnings.unreported += ended.saturating_sub(Self::MOST_ENDED);
        let ended = self.expiries[..ended].iter().take(Self::MOST_ENDED);
        warnings.each.extend(ended.map(|(_, problem)| problem.clone()));
        warnings.each.sort_by(Problem::by_place);
        warnings
    }
}

/// What `file` means, with counters named under the secret of `hasher`.
///
/// # Errors
/// Everything that is wrong with the file, all at once, warnings included.
pub fn compile(file: PolicyFile<'_>, hasher: &KeyHasher) -> Result<Compiled, Problems> {
    compile_all(file, &[], hasher)
}

/// What `first` and `others` mean together, as one configuration: policies, routes, upstreams and access lists follow each other, and
/// everything else may stand in one of the files.
///
/// # Errors
/// Everything that is wrong with the files, all at once, warnings included.
pub fn compile_all(
    first: PolicyFile<'_>,
    others: &[PolicyFile<'_>],
    hasher: &KeyHasher,
) -> Result<Compiled, Problems> {
    let mut report = Report::new(first.name, first.text);
    let mut root = node::parse(first.text, &mut report);
    for other in others {
        let before = report.begin(other.name, other.text);
        if let Some(other) = node::parse_behind(other.text, before, &mut report) {
            root = Some(folder::joined(root, other, &mut report));
        }
    }
    let config = root.map(|root| config(&root, hasher, &mut report));
    if config.is_none() && !report.has_problems() {
        report.error(
            Place::START,
            "the file is empty",
            "begin with `policies:` and a list of policies",
        );
    }
    let expiries = report.take_expiries();
    let problems = report.finish();
    match config {
        Some(config) if !problems.has_errors() => Ok(Compiled {
            config,
            warnings: problems,
            expiries,
        }),
        _ => Err(problems),
    }
}

/// What the file means, as far as it could be read: where `report` has errors, something is missing from it.
fn config(root: &Node, hasher: &KeyHasher, report: &mut Report<'_>) -> Config {
    let document = crate::document::Document::read(root, report);
    let gateway = gateway::gateway(&document, report);
    let forwarding = forwarding::forwarding(&document, report);
    let identity = identity::identity(&document.identity, document.store.as_ref(), report);
    let policies = policy::policies(
        &document.policies,
        &document.identity,
        document.store.as_ref(),
        report,
    );
    // Who asks a door for Redis brings the limits.
    let asks_policies = |listener: &Listener| listener.door != Door::Redis;
    if document.policies.is_empty() && gateway.listen.iter().any(asks_policies) && report.errors() == 0 {
        let message = "there are no policies: nothing is limited";
        report.warning(Place::START, message, "add `policies:` with a list of them");
    }
    free_keys::warn(&document.policies, &identity, &gateway.trust, report);
    let usual = consistency::usual(document.store.as_ref());
    let reject = document.answers.reject.as_ref();
    let reject = reject.map(|text| reject::reject(text, report));
    Config {
        store: store::store(document.store.as_ref(), report),
        policies: policy::set(policies, &identity, reject.as_ref(), usual, hasher, report),
        access: access::access(&document.access, &document.identity, report),
        answers: answers::answers(&document.answers, report),
        forwarding,
        admin: operations::admin(document.admin.as_ref(), report),
        access_log: operations::access_log(document.access_log.as_ref(), report),
        gateway,
        identity,
    }
}
