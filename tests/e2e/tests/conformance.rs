//! Public test sets against a gateway in front of a real origin. `cargo xtask conformance` installs them and runs this.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;

use serde_json::Value;
use tidegate_e2e::{Gateway, Nginx};

const JUDGED: &str = include_str!("conformance/judged.txt");
/// How many tests httpwg has in the version that is installed.
const HTTPWG_TESTS: usize = 107;
/// How often httpwg is run, at most. What fails in one run only hung on which side was quicker.
const MOST_RUNS: usize = 3;
const SMUGGLEX_CHECKS: [&str; 9] = [
    "0-cl",
    "cl-0",
    "cl-edge",
    "cl-te",
    "h2",
    "h2c",
    "parser-discrepancy",
    "te-cl",
    "te-te",
];

/// Every request goes to the nginx that reads whole bodies: an answer given before would end streams that tests still send on.
fn start() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let policies = format!(
        "upstreams: {{ whole: {{ servers: [\"{}\"] }} }}\n\
         routes: [{{ match: {{ path: /** }}, upstream: whole, host: whole }}]\n\
         policies: []\n",
        nginx.url()
    );
    let gateway = Gateway::with_policies(&nginx.url(), &policies);
    (nginx, gateway)
}

/// A program that `cargo xtask conformance` has installed.
fn program(variable: &str) -> Command {
    let path =
        env::var_os(variable).unwrap_or_else(|| panic!("no {variable}: run `cargo xtask conformance`"));
    let mut command = Command::new(path);
    command.env("RUST_LOG", "off").env("RUST_BACKTRACE", "0");
    command
}

/// What each test of httpwg did over some runs.
#[derive(Default)]
struct Seen {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Seen {
    /// Runs httpwg once more.
    fn look(&mut self, gateway: &Gateway) {
        let output = program("TIDEGATE_HTTPWG")
            .env("SEQUENTIAL", "1")
            .args(["--verbose", "--frame-timeout", "1000", "--address"])
            .arg(gateway.address().to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let named = |mark: &str| -> BTreeSet<String> {
            let names = text.lines().filter_map(|line| line.split_once(mark));
            names.map(|(_, name)| name.to_owned()).collect()
        };
        let (begun, passed) = (
            named("Running test: RFC 9113 :: "),
            named("Test passed: RFC 9113 :: "),
        );
        assert_eq!(begun.len(), HTTPWG_TESTS, "{text}");
        // One that breaks off says neither.
        self.failed.extend(begun.difference(&passed).cloned());
        self.passed.extend(passed);
    }

    /// What is not as judged.
    fn surprises(&self, judged: &BTreeMap<&str, bool>) -> Vec<String> {
        let findings = self.failed.difference(&self.passed);
        let findings = findings.filter(|test| !judged.contains_key(&***test));
        let over = judged
            .iter()
            .filter(|(test, always)| **always && !self.failed.contains(**test));
        findings
            .map(|test| format!("fails: {test}"))
            .chain(over.map(|(test, _)| format!("passes, and is judged to fail: {test}")))
            .collect()
    }
}

/// The tests that may fail, and whether they always do.
fn judged() -> BTreeMap<&'static str, bool> {
    let lines = JUDGED.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    parts
        .map(|parts| match parts[..] {
            ["always", test, _] => (test, true),
            ["sometimes", test, _] => (test, false),
            _ => panic!("{parts:?}"),
        })
        .collect()
}

#[test]
fn httpwg_finds_what_was_judged_and_nothing_else() {
    let (_nginx, gateway) = start();
    let (judged, mut seen) = (judged(), Seen::default());
    for _ in 0..MOST_RUNS {
        seen.look(&gateway);
        if seen.surprises(&judged).is_empty() {
            break;
        }
    }
    let failed = seen.failed.difference(&seen.passed).count();
    println!("httpwg: {} of {HTTPWG_TESTS} pass", HTTPWG_TESTS - failed);
    assert_eq!(seen.surprises(&judged), [""; 0]);
}

#[test]
fn smugglex_finds_no_way_to_smuggle_a_request() {
    let (_nginx, gateway) = start();
    let output = program("TIDEGATE_SMUGGLEX")
        .args(["--json", "--timeout", "3", "--checks"])
        .args([SMUGGLEX_CHECKS.join(","), gateway.url("/")])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = told["results"][0]["checks"].as_array().unwrap();
    let mut names: Vec<_> = checks
        .iter()
        .map(|check| check["check_type"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, SMUGGLEX_CHECKS);
    for check in checks {
        // A check whose plain request fails has seen nothing.
        assert_eq!(check["normal_status"], "HTTP/1.1 200 OK", "{check}");
        assert_eq!(check["vulnerable"], false, "{check}");
    }
    assert!(output.status.success());
}
