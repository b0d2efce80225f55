//! Chromium, driven through chromedriver by the WebDriver protocol. curl carries its JSON.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::curl::curl;
use tidegate_test_servers::Process;

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A headless browser with one window and an empty profile.
#[derive(Debug)]
pub struct Browser {
    session: String,
    _driver: Process,
    _profile: TempDir,
}

impl Browser {
    /// Starts it.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // It says its port on standard output.
        let mut command = Command::new("sh");
        command.args(["-c", "exec chromedriver --port=0 >&2"]);
        let driver = Process::start(command);
        let port = driver
            .logged(started_on)
            .expect("chromedriver starts; `cargo xtask tools` installs it");
        let mut flags: Vec<_> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        flags.push(format!(
            "--user-data-dir={}",
            profile.path().join("profile").display()
        ));
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": flags } } } });
        let sessions = format!("http://127.0.0.1:{port}/session");
        let id = command_to(&sessions, &wanted)["sessionId"]
            .as_str()
            .unwrap()
            .to_owned();
        Self {
            session: format!("{sessions}/{id}"),
            _driver: driver,
            _profile: profile,
        }
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) {
        command_to(&format!("{}/url", self.session), &json!({ "url": url }));
    }

    /// What a script's `return` gives.
    pub fn script(&self, script: &str) -> Value {
        command_to(
            &format!("{}/execute/sync", self.session),
            &json!({ "script": script, "args": [] }),
        )
    }

    /// The text one sees.
    pub fn text(&self) -> String {
        self.script("return document.body.innerText")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The status of the page's own response.
    pub fn status(&self) -> u64 {
        let script = "return performance.getEntriesByType('navigation')[0].responseStatus";
        self.script(script).as_u64().unwrap()
    }
}

/// Sends one command; its value.
fn command_to(url: &str, body: &Value) -> Value {
    let fields = ["-H", "content-type: application/json", "--data-binary"];
    let reply = curl(&[&fields[..], &[&body.to_string(), url]].concat());
    assert_eq!(reply.status, 200, "{url}: {}", reply.body);
    let mut answer: Value = serde_json::from_str(&reply.body).unwrap();
    answer["value"].take()
}

fn started_on(log: &str) -> Option<u16> {
    let after = log.split("started successfully on port ").nth(1)?;
    after.split('.').next()?.trim().parse().ok()
}
