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
    pub cure: Option<String>,
    pub(crate) file: String,
    pub(crate) snippet: String,
    pub(crate) width: usize,
}

impl Problem {
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
        let gutter = line.to_string().len();
        write!(f, "{file}:{line}:{column}: {severity}: {}", self.message)?;
        if !self.snippet.is_empty() {
            let indent = column - 1;
            let width = self.width.max(1);
            write!(f, "\n  {line} | {}", self.snippet)?;
            write!(f, "\n  {:gutter$} | {:indent$}{:^<width$}", "", "", "")?;
        }
        if let Some(cure) = &self.cure {
            write!(f, "\n  {:gutter$} = {cure}", "")?;
        }
        Ok(())
    }
}

/// All that is wrong with a policy file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub(crate) Vec<Problem>);

impl Problems {
    /// The problems, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them keeps the file from being used.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
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
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
