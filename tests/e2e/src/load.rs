//! Load generators.

use std::process::Command;
use std::time::Duration;

use tidegate_test_servers::Watch;

/// What a load generator counted.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Responses with a status of 200 to 299.
    pub passed: u64,
    /// Responses with another status.
    pub refused: u64,
    /// Requests without a response.
    pub broken: u64,
    /// From before the first request to after the last.
    pub took: Duration,
}

/// Runs h2load (HTTP/2 without TLS) with these arguments.
pub fn h2load(arguments: &[&str]) -> Counts {
    let (text, took) = run("h2load", arguments);
    let line = |name: &str| {
        let found = text.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("no `{name}` in {text}"))
    };
    let statuses = line("status codes:");
    let requests = line("requests:");
    Counts {
        passed: number_before(statuses, "2xx"),
        refused: ["3xx", "4xx", "5xx"]
            .iter()
            .map(|class| number_before(statuses, class))
            .sum(),
        broken: number_before(requests, "errored") + number_before(requests, "timeout"),
        took,
    }
}

/// Runs wrk (HTTP/1.1) with these arguments.
pub fn wrk(arguments: &[&str]) -> Counts {
    let (text, took) = run("wrk", arguments);
    let all = number_before(&text, "requests in");
    let refused = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses: "));
    let refused = refused.map_or(0, |number| number.parse().unwrap());
    let errors = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Socket errors: "));
    let broken = errors.map_or(0, |errors| {
        errors
            .split(", ")
            .filter_map(|error| error.split(' ').nth(1)?.parse::<u64>().ok())
            .sum()
    });
    Counts {
        passed: all - refused,
        refused,
        broken,
        took,
    }
}

fn run(program: &str, arguments: &[&str]) -> (String, Duration) {
    let watch = Watch::start();
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask tools` installs it"));
    let took = watch.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (text, took)
}

/// The number in front of a word.
fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    let number = before.split_whitespace().next_back().unwrap_or_default();
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number before `{word}` in {text}"))
}
