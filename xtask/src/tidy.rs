//! Rules of the repository that a compiler does not know. Each is a function from files to problems.

mod docs;
mod layout;
mod words;

use std::fs;

use anyhow::bail;

use crate::command::{program, read, root};
use crate::{edges, reference};

/// One file that git tracks.
struct File {
    /// From the repository's root.
    path: String,
    size: u64,
    /// Empty if the file is not text.
    text: String,
}

/// Fails with the list of all broken rules.
pub(crate) fn check() -> anyhow::Result<String> {
    let files = files()?;
    let mut problems = edges::forbidden()?;
    problems.extend(layout::problems(&files));
    problems.extend(words::problems(&files));
    problems.extend(docs::problems(&files));
    problems.extend(reference::out_of_date()?);
    if !problems.is_empty() {
        bail!("\n  {}", problems.join("\n  "));
    }
    Ok(format!("{} files", files.len()))
}

fn files() -> anyhow::Result<Vec<File>> {
    let list = read(program("git").args(["ls-files"]))?;
    let mut files = Vec::new();
    for path in list.lines() {
        // A tracked file may have been deleted in the work tree.
        let Ok(bytes) = fs::read(root().join(path)) else {
            continue;
        };
        let size = bytes.len() as u64;
        let text = String::from_utf8(bytes).unwrap_or_default();
        files.push(File {
            path: path.into(),
            size,
            text,
        });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    pub(super) fn file(path: &str, text: &str) -> File {
        File {
            path: path.into(),
            size: text.len() as u64,
            text: text.into(),
        }
    }

    #[test]
    fn this_repository_is_tidy() {
        check().map(drop).unwrap_or_else(|problems| panic!("{problems}"));
    }
}
