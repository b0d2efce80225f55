//! Folders of servers. Those of a test that was killed are removed by the next.

use std::path::Path;
use std::{fs, process};

use tempfile::TempDir;

const PREFIX: &str = "tidegate-server-";

/// A new one, removed when dropped.
pub(crate) fn make() -> TempDir {
    remove_left_over(&std::env::temp_dir());
    let prefix = format!("{PREFIX}{}-", process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir().unwrap()
}

/// Removes folders of processes that are no more.
fn remove_left_over(parent: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            // Another test may be quicker.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn owner(name: &str) -> Option<&str> {
    Some(name.strip_prefix(PREFIX)?.split_once('-')?.0)
}
