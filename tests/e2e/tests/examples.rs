//! The commands of `docs/examples.md`, run as they stand there, in front of a real origin.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx, Shown, search_path, shown};

const PAGE: &str = include_str!("../../../docs/examples.md");

/// What stands on the page for the gateway and for the origin.
const GATEWAY: &str = "127.0.0.1:8080";
const SERVE: &str = "tidegate serve --config ";
const ORIGIN: &str = " --upstream http://127.0.0.1:9000";

/// A copy of `examples`.
struct Copy {
    folder: TempDir,
    path: OsString,
}

impl Copy {
    /// With the keys that the page begins with.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for entry in fs::read_dir(examples).unwrap() {
            let from = entry.unwrap().path();
            if from.is_file() {
                fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
            }
        }
        let copy = Self {
            folder,
            path: search_path(),
        };
        let (beginning, _) = PAGE.split_once("\n## ").unwrap();
        copy.play(&shown(beginning), GATEWAY);
        copy
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs commands with `address` in place of the gateway's, and compares what they print.
    fn play(&self, commands: &[Shown], address: &str) {
        for shown in commands {
            let output = Command::new("sh")
                .args(["-c", &shown.command.replace(GATEWAY, address)])
                .current_dir(&self.folder)
                .env("PATH", &self.path)
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(printed.trim_end(), shown.prints, "$ {}\n{told}", shown.command);
        }
    }
}

/// The part of the page that starts the gateway with `file`.
fn section(file: &str) -> Option<&'static str> {
    let start = format!("\n$ {SERVE}{file}{ORIGIN}\n");
    PAGE.split("\n## ").find(|section| section.contains(&start))
}

/// Starts what the page starts, and runs what it runs.
fn play(file: &str) {
    let section = section(file).expect("it is on the page");
    let link = format!("](../examples/{file})");
    assert!(section.contains(&link), "the file is linked");
    let (nginx, copy) = (Nginx::start(), Copy::new());
    let gateway = Gateway::start(&["serve", "--config", &copy.file(file), "--upstream", &nginx.url()]);
    let mut commands = shown(section);
    commands.retain(|shown| !shown.command.starts_with(SERVE));
    assert!(commands.len() > 1, "there is something to try");
    copy.play(&commands, &gateway.address().to_string());
}

#[test]
fn every_file_that_the_page_starts_is_played_here() {
    let started = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("$ ")?.strip_prefix(SERVE));
    let files: Vec<&str> = started
        .map(|rest| rest.strip_suffix(ORIGIN).expect("in front of the origin"))
        .collect();
    let tests = include_str!("examples.rs");
    for file in &files {
        assert!(tests.contains(&format!("    play(\"{file}\");\n")), "{file}");
    }
    assert_eq!(files.len(), 8);
}

#[test]
fn a_public_api_with_plans() {
    play("public-api.yaml");
}

#[test]
fn sign_in_and_password_reset() {
    play("login.yaml");
}

#[test]
fn graphql() {
    play("graphql.yaml");
}

#[test]
fn uploads() {
    play("uploads.yaml");
}

#[test]
fn webhooks_that_come_in() {
    play("webhooks.yaml");
}

#[test]
fn text_messages_that_go_out() {
    play("sms.yaml");
}

#[test]
fn tokens_of_a_language_model() {
    play("ai-tokens.yaml");
}

#[test]
fn a_shop_and_its_scrapers() {
    play("shop.yaml");
}
