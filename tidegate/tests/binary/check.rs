use std::fs;

use serde_json::Value;

use crate::process::{run, run_with_input, stderr, stdout};

const GOOD: &str = "\
policies:
  - name: api
    match: { path: /api/** }
    key: [client.ip]
    limit: { quota: 60, window: 1m, burst: 10 }
  - name: login
    match: { method: POST, path: /login }
    key: [client.ip]
    limit: { algorithm: sliding_window_log, quota: 5, window: 1m }
    mode: shadow
";

const BAD: &str = "\
policies:
  - name: api
    key: [client.ip]
    limit: { qota: 60, window: 1m }
  - name: api
    key: [client.ip]
    limit: { quota: 0, window: 1m }
";

#[test]
fn a_valid_file_is_told_in_words() {
    let output = run_with_input(["check", "-"], GOOD);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let words = stdout(&output);
    assert!(words.starts_with("<stdin>: valid, 2 policies\n"), "{words}");
    assert!(
        words.contains("60 per 1 m, burst 10: one every 1 s, full again after 10 s"),
        "{words}"
    );
    assert!(
        words.contains("login: POST /login, counted by client.ip\n  only rehearsed"),
        "{words}"
    );
    assert!(words.contains("5 per 1 m, in any such span, exactly"), "{words}");
}

#[test]
fn who_is_let_in_where_and_when_is_told_in_words() {
    let text = "gateway: { listen: \"127.0.0.1:8181\", upstream: \"http://127.0.0.1:3000\", trusted_proxies: 10.0.0.0/8 }\n\
                identity: { jwt: { issuer: me, audience: you, algorithms: [HS256], secret_file: secret } }\n\
                access: { deny: [192.0.2.0/24, { subject: mallory }] }\n\
                policies:\n  - { name: a, key: [client.ip], limit: { quota: 1, window: 1s }, schedule: { days: [sat] } }\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "s".repeat(64)).unwrap();
    let file = folder.path().join("tidegate.yaml");
    fs::write(&file, text).unwrap();
    let output = run(["check", file.to_str().unwrap()]);
    let words = stdout(&output);
    for line in [
        "listens on http://127.0.0.1:8181",
        "believes x-forwarded-for of 10.0.0.0/8",
        "knows clients by tokens of me, in header authorization",
        "denies 1 range of addresses, 1 subject",
        "any request to http://127.0.0.1:3000",
        "a: any request, counted by client.ip, only sat (UTC)",
    ] {
        assert!(
            words.lines().any(|own| own == line),
            "{line} in {words}{}",
            stderr(&output)
        );
    }
}

#[test]
fn all_problems_come_at_once_with_their_place_and_cure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.yaml");
    fs::write(&file, BAD).unwrap();
    let output = run(["check", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    for expected in ["bad.yaml:4:14: error:", "quota", "bad.yaml:5:", "bad.yaml:7:"] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(said.contains("bad.yaml: not valid"), "{said}");
}

#[test]
fn one_bad_file_among_good_ones_is_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.yaml");
    fs::write(&good, GOOD).unwrap();
    let output = run(["check", good.to_str().unwrap(), "/nowhere/b.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("good.yaml: valid"));
    assert_eq!(
        stderr(&output),
        "tidegate: cannot read /nowhere/b.yaml: there is no such file\n"
    );
}

#[test]
fn json_has_every_problem_of_every_file() {
    let output = run_with_input(["check", "-", "--format", "json"], BAD);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "");
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(report["valid"], false);
    let problems = report["files"][0]["problems"].as_array().unwrap();
    assert!(problems.len() >= 3, "{problems:?}");
    let unknown = problems.iter().find(|problem| problem["column"] == 14).unwrap();
    assert_eq!(unknown["line"], 4);
    assert!(unknown["cure"].as_str().unwrap().contains("quota"), "{unknown}");
    assert_eq!(unknown["severity"], "error");

    let good = run_with_input(["check", "-", "--format", "json"], GOOD);
    assert_eq!(good.status.code(), Some(0));
    let report: Value = serde_json::from_str(stdout(&good)).unwrap();
    assert_eq!(report["valid"], true);
    assert_eq!(report["files"][0]["policies"][1]["name"], "login");
}

#[test]
fn the_key_file_that_a_policy_file_names_is_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.yaml");
    fs::write(
        &file,
        format!("identity:\n  api_key: {{ header: x-api-key, keys: keys.yaml }}\n{GOOD}"),
    )
    .unwrap();
    let output = run(["check", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("hash-key"), "{}", stderr(&output));
}

#[test]
fn a_keys_file_is_checked_as_what_it_is() {
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let keys = format!(
        "# keys\n- {{ hash: '{}', subject: acme, tier: pro }}\n- {{ hash: '{}', subject: b, tier: free, revoked: true }}\n- {{ hash: '{}', subject: c }}\n",
        hash("a"),
        hash("b"),
        hash("c"),
    );
    let output = run_with_input(["check", "-"], &keys);
    assert_eq!(
        stdout(&output),
        "<stdin>: valid, 3 keys, 1 of them revoked, of the tiers free and pro\n"
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let output = run_with_input(["check", "-", "--format", "json"], &keys);
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    let expected = serde_json::json!({ "count": 3, "revoked": 1, "tiers": ["free", "pro"] });
    assert_eq!(report["files"][0]["keys"], expected);
    let none = run_with_input(["check", "-"], "[]\n");
    assert_eq!(stdout(&none), "<stdin>: valid, 0 keys, without tiers\n");

    let output = run_with_input(["check", "-"], "- { hash: tg_secret, subject: acme }\n");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("<stdin>:1:11: error: this is not the hash of a key"),
        "{said}"
    );
    assert!(!said.contains("tg_secret"), "{said}");
}

#[test]
fn a_tier_of_a_key_that_no_policy_names_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.yaml");
    let keys = format!(
        "- {{ hash: 'sha256:{}', subject: acme, tier: premum }}\n",
        "a".repeat(64)
    );
    fs::write(folder.path().join("keys.yaml"), keys).unwrap();
    let policies = "identity: { api_key: { header: x-api-key, keys: keys.yaml } }\n\
                    policies:\n  - { name: a, key: [identity], limit: { quota: 1, window: 1s }, tiers: { premium: { quota: 9, window: 1s } } }\n";
    fs::write(&file, policies).unwrap();
    let output = run(["check", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    assert!(
        said.contains("keys.yaml:1:") && said.contains("warning: no policy names this tier"),
        "{said}"
    );
    assert!(said.contains("did you mean `premium`?"), "{said}");
}

#[test]
fn every_example_is_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".yaml"))
        .collect();
    assert!(!files.is_empty());
    let output = run(["check"].into_iter().chain(files.iter().map(String::as_str)));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "no warnings either");
}
