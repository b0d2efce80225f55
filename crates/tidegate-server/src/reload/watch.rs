//! Hears of changes to files, whichever way they are made.
//!
//! What is watched are folders, not files: an editor replaces a file by another of its name, Kubernetes swaps a symbolic link
//! several steps before the file, and a file that is gone can only be seen to come back where it was.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Quiet for this long, a change is taken for complete: many writers empty a file before they fill it.
const QUIET: Duration = Duration::from_millis(50);

/// How many changes in a row are waited out, so that a folder in which something is always written is looked at all the same.
const MOST_IN_A_ROW: usize = 20;

/// Symbolic links that are followed on the way to a file; what Linux follows too.
const MOST_LINKS: usize = 40;

/// Hears of changes in the folders of a set of files.
#[derive(Debug)]
pub(super) struct Watch {
    /// None if the system gives none; then only looking helps.
    watcher: Option<RecommendedWatcher>,
    changed: Arc<Notify>,
    folders: BTreeSet<PathBuf>,
}

impl Watch {
    /// Watches nothing yet.
    pub(super) fn new() -> Self {
        let changed = Arc::<Notify>::default();
        let heard = changed.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may stand for events that were lost.
            if event.map_or(true, |event| is_change(&event.kind)) {
                heard.notify_one();
            }
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "files cannot be watched: changes are seen only when they are looked for");
        }
        Self {
            watcher: watcher.ok(),
            changed,
            folders: BTreeSet::new(),
        }
    }

    /// Watches the folders in which something can change what `files` hold, and no others. Whether some of them are new.
    pub(super) fn follow(&mut self, files: impl Iterator<Item = PathBuf>) -> bool {
        let mut folders = BTreeSet::new();
        files.for_each(|file| folders_of(&file, &mut folders));
        if let Some(watcher) = &mut self.watcher {
            for gone in self.folders.difference(&folders) {
                // It may be gone from the disk too, and then is not watched any more.
                let _ = watcher.unwatch(gone);
            }
            for folder in &folders {
                // Again each time: a folder may have been replaced by another of its name.
                if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                    tracing::debug!(%error, folder = %folder.display(), "a folder cannot be watched");
                }
            }
        }
        let any_new = folders.difference(&self.folders).next().is_some();
        self.folders = folders;
        any_new
    }

    /// Waits for a change, and until it seems complete.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
        for _ in 0..MOST_IN_A_ROW {
            if timeout(QUIET, self.changed.notified()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether a file may hold something else after it. Reading is none, or looking at files would never end.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(access) => *access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// The folders in which something can change what `file` holds: that of its name, those of all symbolic links on the way, or where the
/// way ends. All without links themselves.
fn folders_of(file: &Path, folders: &mut BTreeSet<PathBuf>) {
    let Ok(file) = std::path::absolute(file) else {
        return;
    };
    let mut at = PathBuf::new();
    let mut ahead = steps(&file);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        if step == Component::ParentDir.as_os_str() {
            at.pop();
            continue;
        }
        let next = at.join(&step);
        let target = fs::read_link(&next).ok();
        if target.is_some() || ahead.is_empty() || !next.exists() {
            folders.insert(at.clone());
        }
        match target {
            Some(_) if links == MOST_LINKS => return,
            Some(target) => {
                links += 1;
                ahead.extend(steps(&target));
            }
            None if !next.exists() => return,
            None => at = next,
        }
    }
}

/// The steps of a path, the first one last. That of an absolute path is the root, which joined to anything gives the root.
fn steps(path: &Path) -> Vec<std::ffi::OsString> {
    path.components()
        .rev()
        .filter(|step| *step != Component::CurDir)
        .map(|step| step.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
