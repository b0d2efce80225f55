//! Counting what cargo's test runs say.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::command::line;

/// How many tests ran, over all test binaries and doctests of one `cargo test`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Totals {
    /// Adds one line of output, if it is the closing line of a test binary.
    fn add(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else {
            return;
        };
        let counts = rest.split_once(". ").map_or("", |(_, counts)| counts);
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} ignored",
            self.passed, self.failed, self.ignored
        )
    }
}

/// Runs a `cargo test`, showing its output as it comes. Fails if a test failed, was ignored, or none ran.
pub(crate) fn run_tests(command: &mut Command) -> anyhow::Result<String> {
    println!("$ {}", line(command));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| line(command))?;
    let mut totals = Totals::default();
    if let Some(output) = child.stdout.take() {
        for text in BufReader::new(output).lines() {
            let text = text?;
            println!("{text}");
            totals.add(&text);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{totals}; cargo test ended with {status}");
    }
    if totals.passed == 0 || totals.ignored > 0 {
        bail!("{totals}: every test has to run");
    }
    Ok(totals.to_string())
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn closing_lines_of_several_binaries_add_up() {
        let mut totals = Totals::default();
        totals.add("running 3 tests");
        totals.add(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        totals.add(
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1s",
        );
        assert_eq!(
            totals,
            Totals {
                passed: 5,
                failed: 4,
                ignored: 1
            }
        );
    }
}
