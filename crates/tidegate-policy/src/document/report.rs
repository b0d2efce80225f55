//! Collects everything wrong with a file.

use tidegate_core::Timestamp;

use std::ops::Range;

use super::node::Place;
use super::within;
use crate::PolicyFile;
use crate::problem::{MAX_PROBLEMS, Problem, Problems, Severity};

/// The longest piece of a line shown, in characters.
const MAX_SNIPPET: usize = 120;

/// The longest piece of a value shown in a message, in characters.
const MAX_SHOWN: usize = 60;

/// Everything found wrong with a file so far.
#[derive(Debug)]
pub struct Report<'a> {
    /// Each file, and how many lines come before it.
    files: Vec<(&'a str, usize)>,
    /// The lines of all files, with one more behind each.
    lines: Vec<&'a str>,
    /// The first errors.
    errors: Vec<Problem>,
    /// The first warnings. Kept apart, so that no number of them crowds an error out.
    warnings: Vec<Problem>,
    /// How many of either there were.
    error_count: usize,
    warning_count: usize,
    /// Lines that are not shown: a secret stands there.
    secret_lines: Vec<(&'a str, usize)>,
    /// What will be worth a warning from some moment on.
    expiries: Vec<(Timestamp, Problem)>,
}

impl<'a> Report<'a> {
    /// Nothing found yet in `files`.
    pub fn of(files: &[PolicyFile<'a>]) -> Self {
        let mut report = Self::empty();
        for file in files {
            report.begin(file.name, file.text);
        }
        report
    }

    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let mut report = Self::empty();
        report.begin(file, text);
        report
    }

    fn empty() -> Self {
        Self {
            files: Vec::new(),
            lines: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            error_count: 0,
            warning_count: 0,
            secret_lines: Vec::new(),
            expiries: Vec::new(),
        }
    }

    /// Another file begins. How many lines come before it.
    pub(crate) fn begin(&mut self, file: &'a str, text: &'a str) -> usize {
        let before = self.lines.len();
        self.files.push((file, before));
        self.lines.extend(text.lines());
        // Some errors stand behind the last line.
        self.lines.push("");
        before
    }

    /// Where `at` is, for messages about another place: `line 3`, or `line 3 of b.yaml` if there are several files.
    pub fn line_in_words(&self, at: Place) -> String {
        let (file, line) = self.file_of(at);
        match &*self.files {
            [_] => format!("line {line}"),
            _ => format!("line {line} of {file}"),
        }
    }

    /// Where `at` is, as compilers print it: `b.yaml:3:5`.
    pub fn place_in_words(&self, at: Place) -> String {
        let (file, line) = self.file_of(at);
        format!("{file}:{line}:{}", at.column)
    }

    /// The file of `at`, and the line in it.
    fn file_of(&self, at: Place) -> (&'a str, usize) {
        let after = self.files.partition_point(|(_, before)| *before < at.line);
        match self.files.get(after.saturating_sub(1)) {
            Some((file, before)) => (file, at.line - before),
            None => ("", at.line),
        }
    }

    /// Something that keeps the file from being used: what is wrong at `at`, and what to write instead.
    pub fn error(&mut self, at: Place, message: impl Into<String>, cure: impl Into<String>) {
        self.error_count += 1;
        if self.errors.len() < MAX_PROBLEMS {
            let problem = self.problem(Severity::Error, at, message.into(), cure.into());
            self.errors.push(problem);
        }
    }

    /// The same, where the line must not be shown, neither for this error nor for another.
    pub(crate) fn secret_error(&mut self, at: Place, message: impl Into<String>, cure: impl Into<String>) {
        let (file, line) = self.file_of(at);
        self.secret_lines.push((file, line));
        self.error(at, message, cure);
    }

    /// Something that is allowed and probably not meant.
    pub(crate) fn warning(&mut self, at: Place, message: impl Into<String>, cure: impl Into<String>) {
        self.warning_count += 1;
        if self.warnings.len() < MAX_PROBLEMS {
            let problem = self.problem(Severity::Warning, at, message.into(), cure.into());
            self.warnings.push(problem);
        }
    }

    /// Something whose end is `until`: from then on it is worth a warning.
    pub(crate) fn ends(
        &mut self,
        at: Place,
        until: Timestamp,
        message: impl Into<String>,
        cure: impl Into<String>,
    ) {
        let problem = self.problem(Severity::Warning, at, message.into(), cure.into());
        self.expiries.push((until, problem));
    }

    /// What has an end, sorted by it.
    pub(crate) fn take_expiries(&mut self) -> Vec<(Timestamp, Problem)> {
        self.expiries.sort_by_key(|(until, _)| *until);
        std::mem::take(&mut self.expiries)
    }

    /// Where `part` (in bytes) of the scalar `value` stands, which begins at `at`.
    pub(crate) fn place_within(&self, at: Place, value: &str, part: Range<usize>) -> Place {
        within::place(&self.lines, at, value, part)
    }

    /// How many errors were found so far: whoever compares it with an earlier count knows whether a part was right.
    pub fn errors(&self) -> usize {
        self.error_count
    }

    /// Whether anything was found yet.
    pub(crate) fn has_problems(&self) -> bool {
        self.error_count + self.warning_count > 0
    }

    /// The problems, in the order of the file: errors before warnings where there are too many.
    pub fn finish(self) -> Problems {
        let mut each = self.errors;
        each.extend(self.warnings);
        each.truncate(MAX_PROBLEMS);
        for problem in &mut each {
            if self.secret_lines.contains(&(&problem.file, problem.line)) {
                problem.snippet.clear();
            }
        }
        each.sort_by(Problem::by_place);
        Problems {
            unreported: self.error_count + self.warning_count - each.len(),
            each,
        }
    }

    fn problem(&self, severity: Severity, at: Place, message: String, cure: String) -> Problem {
        let (snippet, indent) = self.snippet(at);
        let (file, line) = self.file_of(at);
        let room = snippet.chars().count().saturating_sub(indent);
        Problem {
            severity,
            line,
            column: at.column,
            message,
            cure,
            file: file.to_owned(),
            snippet,
            indent,
            width: at.width.min(room).max(1),
        }
    }

    /// The line at `at`, or the part of it around the column, and where in it the place begins.
    fn snippet(&self, at: Place) -> (String, usize) {
        let line = self.lines.get(at.line - 1).copied().unwrap_or_default();
        let column = at.column - 1;
        let skipped = if column > MAX_SNIPPET / 2 && line.chars().count() > MAX_SNIPPET {
            column - MAX_SNIPPET / 2
        } else {
            0
        };
        let shown = line.chars().skip(skipped).take(MAX_SNIPPET).map(printable);
        (shown.collect(), column - skipped)
    }
}

/// `text` as messages show it: in backticks, on one line, cut when long.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).map(printable).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// `words` as a sentence lists them: `a`, `b` or `c`.
pub(crate) fn any_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = words.into_iter().map(quoted).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        return last;
    }
    format!("{} or {last}", words.join(", "))
}

/// The nearest of `known` to `word`, if it is near enough to have been meant.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    /// Below this likeness (1 is equal) two words have nothing to do with each other.
    const ALIKE: f64 = 0.6;
    let word: String = word
        .chars()
        .take(MAX_SHOWN)
        .flat_map(char::to_lowercase)
        .collect();
    known
        .into_iter()
        .map(|candidate| {
            (
                strsim::normalized_damerau_levenshtein(&word, candidate),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Keeps a file from steering the terminal its errors are printed on.
fn printable(char: char) -> char {
    match char {
        '\t' => ' ',
        char if char.is_control() => '\u{fffd}',
        char => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour_and_a_foreign_one_finds_none() {
        let known = ["quota", "window", "burst"];
        assert_eq!(nearest("qouta", known), Some("quota"));
        assert_eq!(nearest("Windows", known), Some("window"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let mut report = Report::new("f", &text);
        let at = Place {
            line: 1,
            column: 501,
            width: 4,
        };
        report.error(at, "m", "c");
        let problems = report.finish();
        let printed = problems.to_string();
        let lines: Vec<&str> = printed.lines().collect();
        assert!(lines[1].len() < 140);
        assert_eq!(lines[1].find("here"), lines[2].find("^^^^"));
    }
}
