//! The descriptors of envoyproxy/ratelimit.

mod document;
mod translate;

use tidegate_policy::reading::{Report, parse_all};
use tidegate_policy::{PolicyFile, Problems};

use super::remarks::Remarks;
use super::{Imported, made};
use document::Domain;

/// How often a domain may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domains {
    /// In one file.
    Once,
    /// In several, which are then one.
    Merged,
}

/// What differs however the files are written.
const DIFFERENCES: [&str; 2] = [
    "a refused call spends nothing here, with all of its descriptors; ratelimit counts refused calls too",
    "names of entries and their values are compared apart here; ratelimit joins them by `_`, so that `a` with `b_c` is `a_b` with `c` to it",
];

/// The policies that say what `files` say.
///
/// # Errors
/// All that is wrong with the files.
pub(super) fn import(files: &[PolicyFile<'_>], domains: Domains) -> Result<Imported, Problems> {
    let mut report = Report::of(files);
    let mut remarks = Remarks::default();
    let mut read: Vec<Domain> = Vec::new();
    for root in parse_all(files, &mut report) {
        if let Some(domain) = Domain::read(&root, &mut report, &mut remarks) {
            document::add(&mut read, domain, domains, &mut report);
        }
    }
    document::refuse_twins(&read, &mut report);
    if report.errors() > 0 {
        return Err(report.finish());
    }
    let policies = translate::policies(&read, &report, &mut remarks);
    match made("envoy-ratelimit", files, &policies, &mut report) {
        Some(text) => Ok(Imported {
            text,
            remarks: remarks.in_lines(&report, &DIFFERENCES),
        }),
        None => Err(report.finish()),
    }
}
