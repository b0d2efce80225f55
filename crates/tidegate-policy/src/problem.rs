//! What is wrong with a policy file, where, and what to write instead.

use std::fmt;

/// Whether a problem stops the file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, and probably does not do what its writer wants.
    Warning,
}

/// One thing wrong with a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether the file can be used all the same.
    pub severity: Severity,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub cure: String,
    pub(crate) file: String,
    /// The line, or the part of it around the place.
    pub(crate) snippet: String,
    /// Where in the snippet the place begins, from 0.
    pub(crate) indent: usize,
    pub(crate) width: usize,
}

impl Problem {
    /// The order of files and of what stands in them.
    pub(crate) fn by_place(&self, other: &Self) -> std::cmp::Ordering {
        let place = |problem: &Self| (problem.line, problem.column);
        self.file
            .cmp(&other.file)
            .then_with(|| place(self).cmp(&place(other)))
    }

    /// The file, as it was named to the compiler.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// As compilers print it: where and what, the line with carets below the place, the cure.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (file, line, column) = (&self.file, self.line, self.column);
        write!(f, "{file}:{line}:{column}: {severity}: {}", self.message)?;
        let gutter = line.to_string().len();
        if !self.snippet.is_empty() {
            let (indent, width) = (self.indent, self.width);
            write!(f, "\n  {line} | {}", self.snippet)?;
            write!(f, "\n  {:gutter$} | {:indent$}{:^<width$}", "", "", "")?;
        }
        write!(f, "\n  {:gutter$} = {}", "", self.cure)
    }
}

/// The most problems reported at once. More only bury the first.
pub(crate) const MAX_PROBLEMS: usize = 100;

/// All that is wrong with a policy file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    pub(crate) each: Vec<Problem>,
    /// How many more there were than are kept.
    pub(crate) unreported: usize,
}

impl Problems {
    /// The problems, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.each.iter()
    }

    /// These and `more`, in the order of the file: errors before warnings where there are too many.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.each.extend(more.each);
        self.each.sort_by_key(|problem| problem.severity);
        self.unreported += more.unreported + self.each.len().saturating_sub(MAX_PROBLEMS);
        self.each.truncate(MAX_PROBLEMS);
        self.each.sort_by(Problem::by_place);
        self
    }

    /// How many are kept. At most 100 are.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Whether one of them keeps the file from being used.
    pub fn has_errors(&self) -> bool {
        self.each
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One after the other, an empty line between them.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.each.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        if self.unreported > 0 {
            write!(f, "\n\nand {} more", self.unreported)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
