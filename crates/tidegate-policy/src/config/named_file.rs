//! Files that a policy file names.

use crate::document::node::{Place, Spanned};
use crate::document::report::Report;
use crate::{PolicyFile, Problems};

/// A file that a policy file names. Whoever reads it can say what is wrong with it as the compiler does, with the place of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its path as written: relative to the folder of the policy file.
    pub path: String,
    at: Place,
}

impl From<&Spanned<String>> for NamedFile {
    fn from(text: &Spanned<String>) -> Self {
        Self {
            path: text.value.clone(),
            at: text.at,
        }
    }
}

/// Collects what is wrong with the files that a policy file names.
#[derive(Debug)]
pub struct FileReport<'a>(Report<'a>);

impl<'a> FileReport<'a> {
    /// Nothing found yet in the files that `first` and `others` name, which were compiled together.
    pub fn new(first: PolicyFile<'a>, others: &[PolicyFile<'a>]) -> Self {
        let mut report = Report::new(first.name, first.text);
        for other in others {
            report.begin(other.name, other.text);
        }
        Self(report)
    }

    /// Something that keeps `file` from being used: what is wrong with it, and what to do.
    pub fn error(&mut self, file: &NamedFile, message: impl Into<String>, cure: impl Into<String>) {
        self.0.error(file.at, message, cure);
    }

    /// Something about `file` that is allowed and probably not meant.
    pub fn warning(&mut self, file: &NamedFile, message: impl Into<String>, cure: impl Into<String>) {
        self.0.warning(file.at, message, cure);
    }

    /// All of it, together with what was found `before`.
    pub fn finish(self, before: Problems) -> Problems {
        before.and(self.0.finish())
    }
}
