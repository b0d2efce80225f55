//! Words that must not be in the repository.

use super::File;

/// Marks that want a reason beside them. Split here, so that this file does not hold them.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
/// A reason is at least this many bytes.
const MIN_REASON_BYTES: usize = 15;
/// Names of one workplace, of no use to a reader of the repository.
const PRIVATE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("shared/", "facts"),
    concat!("shared/", "bench"),
];
/// Waiting for an amount of time instead of an event. A test does not.
const SLEEPS: &[&str] = &[concat!("sle", "ep("), concat!("sleep_", "until(")];

pub(super) fn problems(files: &[File]) -> Vec<String> {
    files.iter().flat_map(file_problems).collect()
}

fn file_problems(file: &File) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let told = mark_without_reason(line)
            .or_else(|| private(line))
            .or_else(|| issue_number(line))
            .or_else(|| sleep(&file.path, line));
        if let Some(told) = told {
            problems.push(format!("{}:{}: {told}", file.path, index + 1));
        }
    }
    problems
}

fn mark_without_reason(line: &str) -> Option<String> {
    let (mark, at) = MARKS
        .iter()
        .find_map(|mark| line.find(mark).map(|at| (mark, at)))?;
    let reason = line[at + mark.len()..].trim();
    (reason.len() < MIN_REASON_BYTES).then(|| format!("{mark} without a reason"))
}

fn private(line: &str) -> Option<String> {
    PRIVATE
        .iter()
        .find(|name| line.contains(*name))
        .map(|name| format!("`{name}` means nothing to a reader"))
}

/// `issue` followed by a number: our own trackers come and go, the reason has to stand in the text.
fn issue_number(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let mut rest = lower.as_str();
    while let Some((_, after)) = rest.split_once("issue ") {
        if after
            .trim_start_matches('#')
            .starts_with(|c: char| c.is_ascii_digit())
        {
            return Some("an issue number; say what it is about".into());
        }
        rest = after;
    }
    None
}

fn sleep(path: &str, line: &str) -> Option<String> {
    let test = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    let sleeps = SLEEPS.iter().any(|name| line.contains(name));
    (test && path.ends_with(".rs") && sleeps)
        .then(|| "a test that sleeps; await the event, or use a manual clock".into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::{MARKS, PRIVATE, SLEEPS, problems};

    fn found(path: &str, text: &str) -> usize {
        problems(&[file(path, text)]).len()
    }

    #[test]
    fn a_mark_needs_a_reason() {
        for mark in MARKS {
            assert_eq!(found("a.rs", &format!("// {mark} later")), 1);
            assert_eq!(
                found(
                    "a.rs",
                    &format!("// {mark} waits for hyper's own limit on trailers")
                ),
                0
            );
        }
    }

    #[test]
    fn private_names_are_found_in_any_file() {
        for name in PRIVATE {
            assert_eq!(found("docs/a.md", &format!("see {name}x")), 1);
        }
    }

    #[test]
    fn an_issue_number_is_found_and_the_word_alone_is_not() {
        assert_eq!(found("a.rs", &format!("// see {} 12", "issue")), 1);
        assert_eq!(found("a.rs", &format!("// Issue here, then {} #7", "issue")), 1);
        assert_eq!(found("a.rs", "// to issue a token, two issue tokens"), 0);
    }

    #[test]
    fn a_sleep_is_a_problem_in_tests_only() {
        for call in SLEEPS {
            assert_eq!(found("tests/e2e/src/a.rs", &format!("    {call}second);")), 1);
            assert_eq!(found("crates/a/tests/b.rs", &format!("    {call}second);")), 1);
            assert_eq!(
                found("crates/a/src/table/tests.rs", &format!("    {call}second);")),
                1
            );
            assert_eq!(found("crates/a/src/b.rs", &format!("    {call}second);")), 0);
        }
    }
}
