//! Running other programs from the repository's root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).into()
}

/// A program to be run in the repository's root.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Cargo, the one that runs us, with arguments split at spaces.
pub(crate) fn cargo(arguments: &str) -> Command {
    let mut command = program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(arguments.split_whitespace());
    command
}

/// Runs `command` with our output. Anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    println!("$ {}", line(command));
    let status = command.status().with_context(|| line(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// What `command` printed on its standard output, if it succeeded.
pub(crate) fn read(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| line(command))?;
    if !output.status.success() {
        bail!(
            "`{}`: {}",
            line(command),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
