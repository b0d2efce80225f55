//! Standard output and standard error, for readers that may have gone away.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Writes `bytes` to standard output and ends with `code`.
///
/// A reader that has seen enough (`| head`) is no failure; a full disk is one.
pub(crate) fn result(bytes: &[u8], code: ExitCode) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => code,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => code,
        Err(error) => failure(format_args!("cannot write to standard output: {error}")),
    }
}

/// Says on standard error what went wrong and ends with exit code 1.
pub(crate) fn failure(what: impl Display) -> ExitCode {
    note(format_args!("tidegate: {what}"));
    ExitCode::FAILURE
}

/// Writes a line to standard error, if anybody listens.
pub(crate) fn note(line: impl Display) {
    // There is nowhere left to say that standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
