//! Links of Markdown pages.

use std::path::{Component, Path, PathBuf};

use super::File;
use crate::command::root;

pub(super) fn problems(files: &[File]) -> Vec<String> {
    let exists = |path: &Path| root().join(path).exists();
    files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .flat_map(|page| dead_links(page, exists))
        .collect()
}

/// Links of `page` to places in the repository where nothing is.
fn dead_links(page: &File, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let local = links(&page.text).into_iter().filter(|link| is_local(link));
    local
        .filter(|link| {
            let path = link.split('#').next().unwrap_or(link);
            !resolve(folder, path).is_some_and(|path| exists(&path))
        })
        .map(|link| format!("{}: dead link `{link}`", page.path))
        .collect()
}

/// Targets of `[text](target)`, code blocks left out.
fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            links.extend(
                line.split("](")
                    .skip(1)
                    .filter_map(|rest| rest.split([')', ' ']).next()),
            );
        }
    }
    links
}

fn is_local(link: &str) -> bool {
    !link.contains("://") && !link.starts_with("mailto:") && !link.starts_with('#')
}

/// `link` seen from `folder`, as a path from the root. None if it leaves the repository.
fn resolve(folder: &Path, link: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in folder.join(link.trim_start_matches('/')).components() {
        match component {
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            other => path.push(other),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::tests::file;
    use super::dead_links;

    #[test]
    fn a_link_to_nothing_is_a_problem() {
        let page = file(
            "docs/a.md",
            "See [b](b.md#part), [c](../c.md), [web](https://x.test/) and [out](../../d.md).",
        );
        let exists = |path: &Path| path == Path::new("docs/b.md");
        let found = dead_links(&page, exists);
        assert_eq!(
            found,
            [
                "docs/a.md: dead link `../c.md`",
                "docs/a.md: dead link `../../d.md`"
            ]
        );
    }

    #[test]
    fn code_blocks_hold_no_links() {
        let page = file("a.md", "```\nx[0](y)\n```\n");
        assert!(dead_links(&page, |_| false).is_empty());
    }
}
