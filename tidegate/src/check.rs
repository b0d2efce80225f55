//! `tidegate check`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use tidegate_core::KeyHasher;
use tidegate_policy::{Keyring, Problem, Problems, Severity};
use tidegate_server::load::{Checked, LoadError, Loaded, PolicySource};

use crate::arguments::{CheckArguments, CheckFormat};
use crate::output;
use crate::words::{DoorInWords, ForwardingInWords, InWords};

/// Checks every file and says what was found.
pub(crate) fn run(arguments: &CheckArguments) -> ExitCode {
    let reports: Vec<_> = arguments.files.iter().map(|file| Report::on(file)).collect();
    let code = if reports.iter().all(|report| report.result.is_ok()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    let printed = match arguments.format {
        CheckFormat::Human => human(&reports),
        CheckFormat::Json => json(&reports),
    };
    output::result(printed.as_bytes(), code)
}

struct Report {
    name: String,
    result: Result<Checked, LoadError>,
}

impl Report {
    fn on(file: &Path) -> Self {
        let text = if file == Path::new("-") {
            PolicySource::read_from("<stdin>", io::stdin())
        } else {
            PolicySource::file(file)
        };
        let name = text
            .as_ref()
            .map_or_else(|_| file.display().to_string(), |text| text.name().to_owned());
        // No counter is ever named here, so any secret does.
        let result = text.and_then(|text| text.check(&KeyHasher::new([0; 16])));
        Self { name, result }
    }
}

/// Says problems to standard error; gives what is valid, in words.
fn human(reports: &[Report]) -> String {
    let mut words = String::new();
    for report in reports {
        match &report.result {
            Ok(checked) => {
                if !words.is_empty() {
                    words.push('\n');
                }
                words.push_str(&valid(&report.name, checked));
            }
            Err(LoadError::Invalid(problems)) => {
                output::note(format_args!("{problems}\n\n{}", invalid(&report.name, problems)))
            }
            Err(error) => output::note(format_args!("tidegate: {error}")),
        }
    }
    words
}

/// What a valid file means. Warnings go to standard error.
fn valid(name: &str, checked: &Checked) -> String {
    match checked {
        Checked::Policies(loaded) => {
            if !loaded.warnings.is_empty() {
                output::note(format_args!("{}\n", loaded.warnings));
            }
            policies_in_words(name, loaded)
        }
        Checked::Keys(keys) => format!("{name}: valid, {}\n", keys_in_words(keys)),
    }
}

/// `2 keys, 1 of them revoked, of the tiers free and pro`.
fn keys_in_words(keys: &Keyring) -> String {
    let mut words = counted(keys.len(), "key", "keys");
    if keys.revoked() > 0 {
        words.push_str(&format!(", {} of them revoked", keys.revoked()));
    }
    let tiers: Vec<&str> = keys.tiers().map(|tier| &**tier).collect();
    match &tiers[..] {
        [] => words.push_str(", without tiers"),
        [only] => words.push_str(&format!(", of the tier {only}")),
        [most @ .., last] => words.push_str(&format!(", of the tiers {} and {last}", most.join(", "))),
    }
    words
}

fn policies_in_words(name: &str, loaded: &Loaded) -> String {
    let policies = loaded.config.policies.policies();
    let mut words = format!(
        "{name}: valid, {}\n",
        counted(policies.len(), "policy", "policies")
    );
    words.push_str(&format!("\n{}", DoorInWords(&loaded.config)));
    let forwarding = ForwardingInWords(&loaded.config.forwarding).to_string();
    if !forwarding.is_empty() {
        words.push_str(&format!("\n{forwarding}"));
    }
    for policy in policies {
        words.push_str(&format!("\n{}\n", InWords(policy, &loaded.config.store)));
    }
    words
}

fn invalid(name: &str, problems: &Problems) -> String {
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    let warnings = problems.len() - errors;
    let mut line = format!("{name}: not valid, {}", counted(errors, "error", "errors"));
    if warnings > 0 {
        line.push_str(&format!(" and {}", counted(warnings, "warning", "warnings")));
    }
    line
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn json(reports: &[Report]) -> String {
    let files: Vec<_> = reports.iter().map(file_as_json).collect();
    let valid = reports.iter().all(|report| report.result.is_ok());
    format!("{:#}\n", json!({ "valid": valid, "files": files }))
}

fn file_as_json(report: &Report) -> Value {
    let name = &report.name;
    match &report.result {
        Ok(Checked::Keys(keys)) => {
            let tiers: Vec<&str> = keys.tiers().map(|tier| &**tier).collect();
            let keys = json!({ "count": keys.len(), "revoked": keys.revoked(), "tiers": tiers });
            json!({ "file": name, "valid": true, "problems": [], "keys": keys })
        }
        Ok(Checked::Policies(loaded)) => {
            let policies: Vec<_> = loaded
                .config
                .policies
                .policies()
                .iter()
                .map(|policy| json!({ "name": &*policy.name, "words": InWords(policy, &loaded.config.store).to_string() }))
                .collect();
            json!({ "file": name, "valid": true, "problems": problems_as_json(&loaded.warnings), "policies": policies })
        }
        Err(LoadError::Invalid(problems)) => {
            json!({ "file": name, "valid": false, "problems": problems_as_json(problems) })
        }
        Err(error) => {
            let problem = json!({ "severity": "error", "message": error.to_string() });
            json!({ "file": name, "valid": false, "problems": [problem] })
        }
    }
}

fn problems_as_json(problems: &Problems) -> Vec<Value> {
    problems.iter().map(problem_as_json).collect()
}

fn problem_as_json(problem: &Problem) -> Value {
    json!({
        "severity": match problem.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "file": problem.file(),
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "cure": problem.cure,
    })
}
