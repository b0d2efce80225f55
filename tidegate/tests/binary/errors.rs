use std::net::TcpListener;
use std::process::Stdio;
use std::{fs, io};

use crate::process::{run, stderr, tidegate};

#[test]
fn a_port_that_is_taken_is_one_message_with_the_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(["demo", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains(&format!("{address} is taken")), "{said}");
    assert!(said.contains("--listen"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_policy_file_that_is_missing_is_one_message() {
    let output = run(["serve", "--config", "/nowhere/tidegate.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "tidegate: cannot read /nowhere/tidegate.yaml: there is no such file\n"
    );
}

#[test]
fn an_invalid_policy_file_does_not_start_a_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.yaml");
    fs::write(&file, "polices: []\n").unwrap();
    let output = run([
        "serve",
        "--config",
        file.to_str().unwrap(),
        "--upstream",
        "http://127.0.0.1:1",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("bad.yaml:1:1: error:"), "{said}");
    assert!(
        said.contains("policies"),
        "the nearest known field is named: {said}"
    );
}

#[test]
fn a_policy_file_without_an_upstream_says_where_to_write_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-upstream.yaml");
    fs::write(
        &file,
        "policies:\n  - { name: a, key: [client.ip], limit: { quota: 1, window: 1s } }\n",
    )
    .unwrap();
    let output = run([
        "serve",
        "--config",
        file.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("gateway.upstream") && said.contains("--upstream"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for line in [
        "serve",
        "serve --upstream 127.0.0.1:9000",
        "check",
        "--upstream http://127.0.0.1:9000",
        "sevre",
    ] {
        let output = run(line.split(' '));
        assert_eq!(output.status.code(), Some(2), "{line}: {}", stderr(&output));
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let output = tidegate(["completions", "bash"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "", "nothing to say about it");
}

#[test]
fn help_and_version_are_results() {
    let help = run(["--help"]);
    assert!(help.status.success());
    assert!(crate::process::stdout(&help).contains("Exit codes:"));
    let version = run(["--version"]);
    assert_eq!(
        crate::process::stdout(&version),
        concat!("tidegate ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
