//! API keys in a shared store: added, revoked and given other tiers while the gateway runs, and a store that dies.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx, curl};
use tidegate_test_servers::{PATIENCE, Server, Watch, until};

/// A gateway whose keys live in a Redis.
struct Bed {
    store: Server,
    gateway: Gateway,
    folder: TempDir,
    _nginx: Nginx,
}

impl Bed {
    fn start(beliefs: &str) -> Self {
        let (store, nginx) = (Server::redis(), Nginx::start());
        let folder = tempfile::tempdir().unwrap();
        let policies = format!(
            "
store: {{ redis: '{}', timeout: 1s }}
identity:
  api_key: {{ header: x-api-key, keys: store, {beliefs} }}
policies:
  - name: api
    key: [identity]
    limit: {{ quota: 1000, window: 1h, burst: 1000 }}
    tiers: {{ pro: {{ quota: 2000, window: 1h, burst: 2000 }} }}
    consistency: local
",
            store.url()
        );
        let file = folder.path().join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        let config = file.to_str().unwrap();
        let gateway = Gateway::start(&["serve", "--config", config, "--upstream", &nginx.url()]);
        Self {
            store,
            gateway,
            folder,
            _nginx: nginx,
        }
    }

    fn config(&self) -> String {
        self.folder
            .path()
            .join("tidegate.yaml")
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// `tidegate keys …`, which has to do what it says.
    fn keys(&self, command: &str, arguments: &[&str]) -> String {
        let output = self.try_keys(command, arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn try_keys(&self, command: &str, arguments: &[&str]) -> Output {
        let config = self.config();
        let line = [&["keys", command, "--config", &config], arguments].concat();
        Gateway::command(&line).output().unwrap()
    }

    fn add(&self, subject: &str) -> String {
        self.keys("add", &["--subject", subject]).trim().to_owned()
    }

    /// The status of a request with `key`, and the `error` of its body.
    fn told(&self, key: &str) -> (u16, String) {
        let field = format!("x-api-key: {key}");
        let reply = curl(&["-H", &field, &self.gateway.url("/told")]);
        let body: Option<serde_json::Value> = serde_json::from_str(reply.body.trim()).ok();
        let error = body.and_then(|body| Some(body.get("error")?.as_str()?.to_owned()));
        (reply.status, error.unwrap_or_default())
    }

    fn status(&self, key: &str) -> u16 {
        self.told(key).0
    }

    /// What the client is told of its quota.
    fn quota(&self, key: &str) -> Option<String> {
        let reply = curl(&["-H", &format!("x-api-key: {key}"), &self.gateway.url("/told")]);
        reply.field("x-ratelimit-limit").map(str::to_owned)
    }
}

#[test]
fn a_key_works_from_the_moment_it_is_added_and_stops_in_time_once_revoked() {
    let bed = Bed::start("cache: 1s");
    let key = bed.add("acme");
    assert!(key.starts_with("tg_") && key.len() > 40, "{key}");
    assert_eq!(bed.status(&key), 200);
    let listed = bed.keys("list", &[]);
    assert!(listed.contains("acme") && !listed.contains(&key), "{listed}");
    let found: Vec<String> = bed.store.ask(&["HVALS", "tg1:{00}:api_keys"]);
    assert!(!found.concat().contains(&key), "{found:?}");

    let digest = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    bed.keys("revoke", &[digest]);
    let watch = Watch::start();
    until("the key stops", || (bed.status(&key) == 401).then_some(()));
    assert!(watch.elapsed().as_millis() < 3_000, "{:?}", watch.elapsed());
    assert_eq!(bed.told(&key), (401, "revoked_api_key".to_owned()));

    bed.keys("revoke", &["--subject", "acme", "--forget"]);
    until("it is forgotten", || {
        (bed.told(&key).1 == "unknown_api_key").then_some(())
    });
    assert_eq!(bed.try_keys("revoke", &[digest]).status.code(), Some(1));
}

#[test]
fn a_key_that_was_tried_too_early_is_known_within_the_time() {
    let bed = Bed::start("cache: 1s");
    let key = "tg_tried_before_it_was_added_0123456789";
    assert_eq!(bed.told(key), (401, "unknown_api_key".to_owned()));
    let mut add = Gateway::command(&[
        "keys",
        "add",
        "--config",
        &bed.config(),
        "--subject",
        "acme",
        "--key-from-stdin",
    ]);
    let mut add = add.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut add.stdin.take().unwrap(), key.as_bytes()).unwrap();
    assert!(add.wait().unwrap().success());
    until("it is known", || (bed.status(key) == 200).then_some(()));
}

#[test]
fn another_tier_takes_effect_and_can_be_taken_back() {
    let bed = Bed::start("cache: 1s");
    let key = bed.add("acme");
    let is = |quota: &str| until(quota, || (bed.quota(&key)? == quota).then_some(()));
    is("1000");
    bed.keys("set-tier", &["--subject", "acme", "pro", "--until", "24h"]);
    is("2000");
    assert!(bed.keys("list", &["--json"]).contains("\"tier\": \"pro\""));
    bed.keys("set-tier", &["--subject", "acme", "--clear"]);
    is("1000");
}

#[test]
fn while_the_store_is_dead_known_keys_go_on_and_others_are_not_called_unknown() {
    let mut bed = Bed::start("cache: 1s, stale: 10m");
    let (known, new) = (bed.add("acme"), bed.add("zoe"));
    assert_eq!(bed.status(&known), 200);
    bed.store.kill();
    let watch = Watch::start();
    while watch.elapsed().as_millis() < 1_500 {
        assert_eq!(bed.status(&known), 200);
    }
    assert_eq!(bed.told(&new), (503, "api_keys_unavailable".to_owned()));
    let failed = bed.try_keys("list", &[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("does not answer"));
    bed.store.restart();
    until("the store tells again", || {
        (bed.told(&new).0 != 503).then_some(())
    });
    assert!(PATIENCE > watch.elapsed(), "{:?}", watch.elapsed());
}

#[test]
fn a_line_that_cannot_be_done_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.yaml");
    fs::write(&file, "policies: []\n").unwrap();
    let told = |arguments: &[&str]| {
        let output = Gateway::command(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let path = Path::new(&file).to_str().unwrap();
    let (code, why) = told(&["keys", "list", "--config", path]);
    assert!(code == Some(1) && why.contains("has no store"), "{why}");
    let (code, _) = told(&["keys", "revoke", "--config", path]);
    assert_eq!(code, Some(2), "which key?");
}
