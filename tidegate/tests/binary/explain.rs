use std::fs;

use serde_json::Value;

use crate::process::{run, stderr, stdout};

const POLICIES: &str = "\
gateway: { trusted_proxies: 10.0.0.0/8 }
policies:
  - name: api
    match: { path: '/api/{version}/**' }
    key: [client.ip, path.version, header.x-api-key]
    limit: { quota: 30, window: 1m, burst: 10 }
  - name: login
    match: { method: POST, path: /login }
    key: [client.ip]
    limit: { quota: 5, window: 1m }
  - name: night
    match: { path: /api/** }
    schedule: { hours: '22:00-06:00' }
    key: [client.ip]
    limit: { quota: 1, window: 1m }
";

const MOMENT: &str = "2027-01-01T12:00:00Z";

/// What `tidegate explain` prints with these policies and `arguments`.
fn explained(arguments: &[&str], har: &str) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tidegate.yaml");
    fs::write(&config, POLICIES).unwrap();
    let archive = folder.path().join("session.har");
    fs::write(&archive, har).unwrap();
    let mut all = vec!["explain", "--config", config.to_str().unwrap(), "--now", MOMENT];
    all.extend(arguments.iter().map(|argument| match *argument {
        "HAR" => archive.to_str().unwrap(),
        other => other,
    }));
    run(all)
}

const TEXT: &str = "\
GET http://a.test/api/v1/orders
  client    192.0.2.7, as 10.0.0.1 may tell by its forwarded field
  identity  nobody in particular
  access    not listed
  verdict   passes
            x-ratelimit-limit: 10
            x-ratelimit-remaining: 9
            x-ratelimit-reset: 1798804802
            ratelimit: \"api\";r=9;t=2
            ratelimit-policy: \"api\";q=30;w=60;tidegate-burst=10

api: /api/{version}/**, counted by client.ip and path.version and header.x-api-key
  key       client.ip = 192.0.2.7
  key       path.version = v1
  key       header.x-api-key = abcd… (20 characters)
  limit     30 per 1 m, burst 10: one every 2 s, full again after 20 s
  costs     1: passes, 9 left

Do not match:
  login: its host or path is another
  night: its schedule is closed at this time

Counted as the first request of all. Nothing was spent, and nobody was asked.
";

#[test]
fn a_request_is_explained_in_words() {
    let flags = [
        "--url",
        "http://a.test/api/v1/orders",
        "--header",
        "x-api-key: abcdefghijklmnopqrst",
        "--header",
        "X-Forwarded-For: 192.0.2.7",
        "--client",
        "10.0.0.1",
        "--all",
    ];
    let output = explained(&flags, "");
    assert_eq!(stdout(&output), TEXT, "{}", stderr(&output));
    let curl = [
        "--client",
        "10.0.0.1",
        "--all",
        "--",
        "curl",
        "-s",
        "http://a.test/api/v1/orders",
        "-H",
        "x-api-key: abcdefghijklmnopqrst",
        "-H",
        "X-Forwarded-For: 192.0.2.7",
    ];
    assert_eq!(stdout(&explained(&curl, "")), TEXT);
}

#[test]
fn requests_of_an_archive_have_a_line_each_and_one_of_them_is_explained_to_machines() {
    let entry = |method, path| {
        format!(
            r#"{{"request":{{"method":"{method}","url":"https://a.test{path}","headers":[{{"name":":path","value":"/"}}]}}}}"#
        )
    };
    let har = format!(
        r#"{{"log":{{"entries":[{},{},{}]}}}}"#,
        entry("POST", "/login"),
        entry("GET", "/style.css"),
        entry("GET", "/api/v1"),
    );
    assert_eq!(
        stdout(&explained(&["--har", "HAR"], &har)),
        "1. POST https://a.test/login: passes (login)\n\
         2. GET https://a.test/style.css: passes (no policy)\n\
         3. GET https://a.test/api/v1: refused, 400 Bad Request (api)\n"
    );
    let third: Value = serde_json::from_str(stdout(&explained(
        &["--har", "HAR", "--entry", "3", "--json"],
        &har,
    )))
    .unwrap();
    assert_eq!(third["status"], 400);
    assert_eq!(third["policies"][0]["key"][0]["value"], "missing");
    assert_eq!(third["policies"][1]["matches"], false);
    let fourth = explained(&["--har", "HAR", "--entry", "4"], &har);
    assert!(
        stderr(&fourth).contains("there is no entry 4: the file has 3"),
        "{}",
        stderr(&fourth)
    );
}

#[test]
fn what_is_no_request_is_told() {
    for (arguments, told) in [
        (&["--url", "http://a b"][..], "is not a URL"),
        (&["--url", "a.test", "--header", "x"], "write `name: value`"),
        (
            &["--", "curl", "--form", "a=b", "a.test"],
            "`--form` is not understood",
        ),
        (&["--har", "HAR"], "cannot read"),
        (&[], "say which request"),
    ] {
        let output = explained(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            stderr(&output).contains(told),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_route_of_a_request_that_passes_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tidegate.yaml");
    let text = "gateway: { upstream: \"http://127.0.0.1:3000\" }\n\
                upstreams: { app: { servers: [\"http://127.0.0.1:3001\"] } }\n\
                routes: [{ match: { path: /api/** }, upstream: app }]\n\
                policies: []\n";
    fs::write(&config, text).unwrap();
    let explain = |url| {
        let output = run(["explain", "--config", config.to_str().unwrap(), "--url", url]);
        stdout(&output).to_owned()
    };
    let api = explain("http://a.test/api/v1");
    assert!(api.contains("\n  route     /api/** to app\n"), "{api}");
    let other = explain("http://a.test/");
    let rest = "\n  route     none of the routes, so to http://127.0.0.1:3000\n";
    assert!(other.contains(rest), "{other}");
}
