//! `tidegate completions`.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::{arguments, output};

/// Prints the completions of `shell`.
pub(crate) fn print(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::tree(), "tidegate", &mut script);
    output::result(&script, ExitCode::SUCCESS)
}
