//! Where an outlet's lines end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long to rest when a non-blocking sink takes nothing.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// Where an outlet's lines end.
#[derive(Debug)]
pub struct Sink {
    file: File,
    /// Where the file was opened, if it has a name.
    path: Option<PathBuf>,
}

impl Sink {
    /// Standard output, without the lock and the buffer that the rest of the process shares.
    ///
    /// # Errors
    /// It is closed, or no file can be opened.
    pub fn stdout() -> io::Result<Self> {
        io::stdout().as_fd().try_clone_to_owned().map(Self::of)
    }

    /// Standard error, likewise.
    ///
    /// # Errors
    /// It is closed, or no file can be opened.
    pub fn stderr() -> io::Result<Self> {
        io::stderr().as_fd().try_clone_to_owned().map(Self::of)
    }

    /// The file at `path`, written on from its end; made if there is none.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn file(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: open(path)?,
            path: Some(path.to_owned()),
        })
    }

    pub(super) fn of(end: impl Into<OwnedFd>) -> Self {
        Self {
            file: File::from(end.into()),
            path: None,
        }
    }

    /// Opens the file anew. If that fails, the old one is kept: better a line in a moved file than none.
    pub(super) fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match open(path) {
            Ok(file) => self.file = file,
            Err(error) => {
                tracing::error!(%error, file = %path.display(), "the access log cannot be opened anew")
            }
        }
    }

    /// Writes all of `bytes`, however long that takes.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Whoever shares the pipe made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PAUSE),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}
