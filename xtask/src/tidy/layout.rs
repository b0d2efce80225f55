//! Sizes and shapes of files.

use super::File;

/// Larger files do not belong in git.
const MAX_BYTES: u64 = 256 * 1024;
/// A source file beyond this wants to be two.
const MAX_SOURCE_LINES: usize = 500;
/// Source files that may be longer, each with its own bound. Keep this short.
const LONG_FILES: &[(&str, usize)] = &[];
/// Pages that stay readable at one go.
const SHORT_PAGES: &[(&str, usize)] = &[("README.md", 150), ("ARCHITECTURE.md", 200)];

pub(super) fn problems(files: &[File]) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| [size(file), length(file), name(file), lib(file)])
        .flatten()
        .collect()
}

fn size(file: &File) -> Option<String> {
    (file.size > MAX_BYTES).then(|| format!("{}: {} bytes, at most {MAX_BYTES}", file.path, file.size))
}

fn length(file: &File) -> Option<String> {
    let listed = LONG_FILES
        .iter()
        .chain(SHORT_PAGES)
        .find(|(path, _)| *path == file.path);
    let bound = match listed {
        Some((_, bound)) => *bound,
        None if file.path.ends_with(".rs") => MAX_SOURCE_LINES,
        None => return None,
    };
    let lines = file.text.lines().count();
    (lines > bound).then(|| format!("{}: {lines} lines, at most {bound}", file.path))
}

/// `foo.rs` beside `foo/`. Cargo takes every file right below `tests/` for a test of its own, so what tests share is in
/// `tests/foo/mod.rs`.
fn name(file: &File) -> Option<String> {
    let folder = file.path.strip_suffix("/mod.rs")?;
    let shared = folder.rsplit('/').nth(1) == Some("tests");
    (!shared).then(|| format!("{}: use foo.rs beside foo/", file.path))
}

/// A `lib.rs` is docs, modules and re-exports.
fn lib(file: &File) -> Option<String> {
    if !file.path.ends_with("/src/lib.rs") {
        return None;
    }
    let items = outline(&file.text);
    let other = items.iter().find(|item| !is_map(item))?;
    Some(format!(
        "{}: only docs, modules and re-exports, not `{other}`",
        file.path
    ))
}

/// The first line of every item at the top level: no comments, attributes, blank lines, or what is inside.
fn outline(text: &str) -> Vec<&str> {
    let indented = |line: &str| line.starts_with([' ', '}', ')', ']']);
    text.lines()
        .filter(|line| !line.is_empty() && !indented(line))
        .filter(|line| !line.starts_with("//") && !line.starts_with('#'))
        .collect()
}

fn is_map(item: &str) -> bool {
    let public = item.strip_prefix("pub ").unwrap_or(item);
    let module = public.starts_with("mod ") && public.ends_with(';');
    module || item.starts_with("pub use ") || item.starts_with("extern crate ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::{MAX_BYTES, MAX_SOURCE_LINES, problems};

    #[test]
    fn a_blob_is_a_problem_one_byte_over_the_limit() {
        let mut blob = file("fixtures/blob.bin", "");
        blob.size = MAX_BYTES;
        assert!(problems(std::slice::from_ref(&blob)).is_empty());
        blob.size += 1;
        assert_eq!(problems(&[blob]).len(), 1);
    }

    #[test]
    fn a_source_file_is_a_problem_one_line_over_the_limit() {
        let text = "// line\n".repeat(MAX_SOURCE_LINES);
        assert!(problems(&[file("crates/a/src/b.rs", &text)]).is_empty());
        assert_eq!(
            problems(&[file("crates/a/src/b.rs", &(text + "// one more\n"))]).len(),
            1
        );
    }

    #[test]
    fn a_readme_is_a_problem_over_its_own_limit() {
        assert_eq!(problems(&[file("README.md", &"text\n".repeat(151))]).len(), 1);
        assert!(problems(&[file("docs/long.md", &"text\n".repeat(151))]).is_empty());
    }

    #[test]
    fn a_mod_rs_is_a_problem() {
        assert_eq!(problems(&[file("crates/a/src/b/mod.rs", "")]).len(), 1);
        assert!(problems(&[file("crates/a/tests/common/mod.rs", "")]).is_empty());
    }

    #[test]
    fn a_lib_rs_with_code_is_a_problem() {
        let map =
            "//! Docs.\n#![no_std]\n\nextern crate alloc;\nmod a;\npub mod b;\npub use a::{\n    C,\n};\n";
        assert!(problems(&[file("crates/a/src/lib.rs", map)]).is_empty());
        let code = format!("{map}\npub fn f() {{\n    g();\n}}\n");
        let found = problems(&[file("crates/a/src/lib.rs", &code)]);
        assert_eq!(
            found,
            ["crates/a/src/lib.rs: only docs, modules and re-exports, not `pub fn f() {`"]
        );
    }
}
