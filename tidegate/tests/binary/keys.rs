use std::fs;

use crate::process::{run, run_with_input, stderr, stdout};

#[test]
fn a_key_becomes_an_entry_that_does_not_hold_it() {
    let key = "a-key-of-more-than-twenty-characters";
    let output = run_with_input(
        ["hash-key", "--subject", "acme", "--tier", "pro"],
        &format!("{key}\n"),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let entry = stdout(&output);
    assert!(
        entry.contains("acme") && entry.contains("pro") && entry.contains("sha256:"),
        "{entry}"
    );
    assert!(!entry.contains(key) && !stderr(&output).contains(key));
}

#[test]
fn a_generated_key_is_shown_once_and_never_twice_the_same() {
    let keys: Vec<_> = (0..2)
        .map(|_| {
            let output = run(["hash-key", "--generate", "--subject", "acme"]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let key = stderr(&output).lines().last().unwrap().trim().to_owned();
            assert!(key.starts_with("tg_") && key.len() >= 40, "{key}");
            assert!(!stdout(&output).contains(&key));
            let rehashed = run_with_input(["hash-key", "--subject", "acme"], &key);
            assert_eq!(stdout(&rehashed), stdout(&output));
            key
        })
        .collect();
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_key_that_could_be_guessed_is_refused() {
    let output = run_with_input(["hash-key", "--subject", "acme"], "secret\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("20"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_subject_that_no_key_file_can_have_is_refused() {
    let output = run(["hash-key", "--generate", "--subject", ""]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert!(
        !stderr(&output).contains("tg_"),
        "no key is made: {}",
        stderr(&output)
    );
}

#[test]
fn entries_appended_to_each_other_are_a_key_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut keys = String::new();
    for subject in ["acme", "o'neill & \"sons\": #1"] {
        keys.push_str(stdout(&run(["hash-key", "--generate", "--subject", subject])));
    }
    fs::write(folder.path().join("keys.yaml"), &keys).unwrap();
    let file = folder.path().join("tidegate.yaml");
    fs::write(&file, "identity:\n  api_key: { header: x-api-key, keys: keys.yaml }\npolicies:\n  - { name: a, key: [client.ip], limit: { quota: 1, window: 1s } }\n").unwrap();
    let output = run(["check", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}\n{keys}", stderr(&output));
}
