//! What is served, and how the last tries to replace it went.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Timestamp;

/// What is served, since when, and what became of newer files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadStatus {
    /// Counts what was served since the start: 1 is what the process started with.
    pub generation: u64,
    /// A short checksum of all files that what is served came from: twelve hexadecimal digits. None for policies that are not files.
    pub checksum: Option<String>,
    /// Since when it is served.
    pub loaded_at: Timestamp,
    /// Tries that failed since the start.
    pub failures: u64,
    /// Why the files as they are now are not served. None if they are.
    pub failure: Option<ReloadFailure>,
    /// Settings that files say otherwise than they hold, because they hold until a restart. Sorted.
    pub needs_restart: Vec<&'static str>,
}

/// Why files are not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReloadFailure {
    /// When they were tried.
    pub at: Timestamp,
    /// Everything that is wrong with them.
    pub message: String,
}

/// Where the status of a process is found. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reloads(Arc<Mutex<ReloadStatus>>);

impl Reloads {
    /// The status now.
    pub fn status(&self) -> ReloadStatus {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the status, and gives what it is then.
    pub(super) fn change(&self, change: impl FnOnce(&mut ReloadStatus)) -> ReloadStatus {
        let mut status = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut status);
        status.clone()
    }
}
