//! What is told beside the policy file.

use tidegate_policy::reading::{Place, Report};

/// How a limit of zero is said.
pub(super) const NOTHING_PASSES: &str =
    "a limit of 0 becomes one of 1 whose calls cost 2, so that nothing passes";

/// What has no equal or differs.
#[derive(Debug, Default)]
pub(super) struct Remarks(Vec<(Place, String)>);

impl Remarks {
    /// Something about what stands at `at`.
    pub(super) fn add(&mut self, at: Place, remark: impl Into<String>) {
        self.0.push((at, remark.into()));
    }

    /// A line each, in the order of the files, then what is said of the files as a whole.
    pub(super) fn in_lines(mut self, report: &Report<'_>, whole: &[&str]) -> Vec<String> {
        self.0.sort_by_key(|(at, _)| at.order());
        let placed = self.0.into_iter();
        let placed = placed.map(|(at, remark)| format!("{}: {remark}", report.place_in_words(at)));
        placed
            .chain(whole.iter().map(|remark| format!("note: {remark}")))
            .collect()
    }
}
