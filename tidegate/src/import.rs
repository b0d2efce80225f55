//! `tidegate import`: the files of other limiters as a policy file.

mod envoy;
mod limitador;
mod names;
mod remarks;
#[cfg(test)]
mod tests;
mod writing;

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tidegate_core::KeyHasher;
use tidegate_policy::reading::{Place, Report};
use tidegate_policy::{PolicyFile, Problems, Severity, compile};
use tidegate_server::load::{LoadError, read_text};

use crate::arguments::ImportCommand;
use crate::output;
use envoy::Domains;
use writing::Policy;

/// Prints the policy file, and remarks to standard error.
pub(crate) fn run(command: &ImportCommand) -> ExitCode {
    let imported = match command {
        ImportCommand::EnvoyRatelimit(arguments) => {
            let domains = if arguments.merge_domains {
                Domains::Merged
            } else {
                Domains::Once
            };
            imported(&arguments.files, |files| envoy::import(files, domains))
        }
        ImportCommand::Limitador(arguments) => imported(&arguments.files, limitador::import),
    };
    match imported {
        Ok(imported) => {
            for remark in &imported.remarks {
                output::note(remark);
            }
            output::result(imported.text.as_bytes(), ExitCode::SUCCESS)
        }
        Err(failure) => {
            output::note(failure);
            ExitCode::FAILURE
        }
    }
}

/// A policy file made of the files of another limiter.
#[derive(Debug)]
struct Imported {
    /// The policy file.
    text: String,
    /// What has no equal or differs, a line each.
    remarks: Vec<String>,
}

/// What `import` makes of the files at `paths`.
fn imported(
    paths: &[PathBuf],
    import: impl FnOnce(&[PolicyFile<'_>]) -> Result<Imported, Problems>,
) -> Result<Imported, String> {
    let texts = paths.iter().map(|path| read(path)).collect::<Vec<_>>();
    let unreadable = texts.iter().filter_map(|text| text.as_ref().err());
    let unreadable: Vec<String> = unreadable.map(said).collect();
    if !unreadable.is_empty() {
        return Err(unreadable.join("\n"));
    }
    let texts: Vec<(String, String)> = texts.into_iter().flatten().collect();
    let files: Vec<PolicyFile<'_>> = texts
        .iter()
        .map(|(name, text)| PolicyFile { name, text })
        .collect();
    import(&files).map_err(|problems| problems.to_string())
}

/// The file of `policies`, which are made of `files`. A file that exceeds some bound is not printed: what is wrong is told at the place of what
/// it was made of.
fn made(
    from: &str,
    files: &[PolicyFile<'_>],
    policies: &[Policy],
    report: &mut Report<'_>,
) -> Option<String> {
    let names: Vec<&str> = files.iter().map(|file| file.name).collect();
    let comment = format!("Made by `tidegate import {from}` of {}.", names.join(", "));
    let written = writing::file(&comment, policies);
    let made = PolicyFile {
        name: "the imported policies",
        text: &written.text,
    };
    let Err(problems) = compile(made, &KeyHasher::new([0; 16])) else {
        return Some(written.text);
    };
    for problem in problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
    {
        let at = written.place_of(problem.line).unwrap_or(Place::START);
        report.error(at, &problem.message, &problem.cure);
    }
    None
}

/// The name and the text of the file at `path`.
fn read(path: &Path) -> Result<(String, String), LoadError> {
    if path == Path::new("-") {
        return Ok(("<stdin>".to_owned(), read_text("<stdin>", io::stdin())?));
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| LoadError::Unreadable {
        name: name.clone(),
        error,
    })?;
    let text = read_text(&name, file)?;
    Ok((name, text))
}

fn said(error: impl Display) -> String {
    format!("tidegate: {error}")
}
