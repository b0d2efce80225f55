//! What people read when a policy file is wrong. Each `problems/*.yaml` has its printed problems beside it in `*.txt`;
//! `UPDATE_EXPECTED=1 cargo test -p tidegate-policy --test problems` writes them anew, to be read before they are committed.

use std::fs;
use std::path::PathBuf;

use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, compile};

fn printed(name: &str, text: &str) -> String {
    match compile(PolicyFile { name, text }, &KeyHasher::new([0; 16])) {
        Ok(compiled) => format!("usable\n\n{}\n", compiled.warnings),
        Err(problems) => format!("{problems}\n"),
    }
}

#[test]
fn problems_are_printed_as_expected() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/problems");
    let mut seen = 0;
    let mut differing = String::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = printed(&name, &fs::read_to_string(&path).unwrap());
        let expected_path = path.with_extension("txt");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected_path, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            differing += &format!("== {name}, found:\n{found}\n== expected:\n{expected}\n");
        }
    }
    assert!(seen > 10, "only {seen} files");
    assert!(differing.is_empty(), "{differing}");
}
