use std::fs;

use crate::process::{stderr, tidegate};

const README: &str = include_str!("../../../README.md");

/// The policy file that the README shows.
fn shown() -> &'static str {
    let (_, rest) = README.split_once("```yaml\n").unwrap();
    rest.split_once("```").unwrap().0
}

fn check(policies: &str) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tidegate.yaml"), policies).unwrap();
    fs::write(folder.path().join("keys.yaml"), "[]\n").unwrap();
    tidegate(["check", "tidegate.yaml"])
        .current_dir(&folder)
        .output()
        .unwrap()
}

#[test]
fn the_policy_file_that_the_readme_shows_is_valid_and_without_warnings() {
    let output = check(shown());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn the_mistakes_that_the_readme_shows_are_what_check_says() {
    let wrong = shown()
        .replace("burst: 10 }", "burts: 10 }")
        .replace("mode: shadow", "mode: shade");
    let output = check(&wrong);
    assert_eq!(output.status.code(), Some(1));
    assert!(README.contains(stderr(&output)), "{}", stderr(&output));
}
