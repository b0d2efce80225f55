//! Commands on pages of the manual.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::gateway::Gateway;

/// A command on a page, and what it prints.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Without the prompt.
    pub command: &'static str,
    /// Its lines, without the end of the last one.
    pub prints: String,
}

/// The commands of `text`, each up to the next one or the end of its block.
pub fn shown(text: &'static str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    for line in blocks(text, "console").flat_map(str::lines) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(Shown {
                command,
                prints: String::new(),
            }),
            (None, Some(last)) if last.prints.is_empty() => line.clone_into(&mut last.prints),
            (None, Some(last)) => last.prints += &format!("\n{line}"),
            (None, None) => panic!("{line} is printed by no command"),
        }
    }
    commands
}

/// What stands in blocks of this language.
pub fn blocks(text: &'static str, language: &str) -> impl Iterator<Item = &'static str> {
    let opening = format!("```{language}\n");
    let parts: Vec<&str> = text.split(opening.as_str()).skip(1).collect();
    parts
        .into_iter()
        .map(|part| part.split_once("```").expect("the block ends").0)
}

/// Where a shell looks for programs: `tidegate` is the binary under test.
pub fn search_path() -> OsString {
    let binary = PathBuf::from(Gateway::command(&[]).get_program());
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folder = binary.parent().expect("the binary is in a folder").to_owned();
    std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&others))).unwrap()
}
