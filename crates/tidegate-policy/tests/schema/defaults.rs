//! A default that the schema tells is the one that holds: written out, it changes nothing.

use serde_json::Value;
use tidegate_policy::{Admin, Config};

use super::{compiled, schema};

/// Where the field is written.
const HOLE: &str = "HOLE";

/// A file around the field `name` of the mapping that the schema calls `what`.
fn file_around(what: &str, name: &str) -> &'static str {
    match (what, name) {
        ("a policy file", _) => "answers: {}\nHOLE",
        ("`gateway`", "forwarded_field") => "gateway:\n  trusted_hops: 1\n  HOLE",
        ("`gateway`", _) => "gateway: { HOLE }",
        ("`timeouts`", _) => "gateway: { timeouts: { HOLE } }",
        ("`limits`", _) => "gateway: { limits: { HOLE } }",
        ("`tls`", _) => {
            "gateway:\n  listen:\n    address: 0.0.0.0:1\n    tls:\n      certificates: { certificate: a, key: b }\n      client_ca: c\n      HOLE"
        }
        ("an upstream", _) => "upstreams:\n  a:\n    servers: [http://a, http://b]\n    HOLE",
        ("a server", _) => "upstreams:\n  a:\n    servers:\n      url: http://a\n      HOLE",
        ("`tls` of an upstream", _) => "upstreams:\n  a:\n    servers: https://a\n    tls: { HOLE }",
        ("`health`", _) => "upstreams:\n  a:\n    servers: http://a\n    health:\n      path: /\n      HOLE",
        ("`ejection`", _) => "upstreams:\n  a:\n    servers: http://a\n    ejection: { HOLE }",
        ("a route", _) => "routes:\n  - match: { path: /a }\n    upstream: http://a\n    HOLE",
        ("`identity`", _) => {
            "identity:\n  api_key: { header: a, keys: b }\n  jwt: { issuer: a, audience: b, algorithms: RS256, jwks: c }\n  HOLE"
        }
        ("`api_key`", _) => "identity:\n  api_key:\n    header: a\n    keys: b\n    HOLE",
        ("`jwt`", _) => {
            "identity:\n  jwt:\n    issuer: a\n    audience: b\n    algorithms: RS256\n    jwks: c\n    HOLE"
        }
        ("`answers`", _) => "answers: { HOLE }",
        ("`reject`", _) => {
            "answers:\n  reject:\n    body: 1\n    HOLE\npolicies:\n  - { name: a, key: host, limit: { quota: 1, window: 1s } }"
        }
        ("`access_log`", _) => "access_log:\n  to: stdout\n  HOLE",
        ("a policy", "on_error") => {
            "policies:\n  - name: a\n    key: host\n    when: 'true'\n    limit: { quota: 9, window: 1s }\n    HOLE"
        }
        ("a policy", _) => {
            "policies:\n  - name: a\n    key: host\n    limit: { quota: 9, window: 1s }\n    HOLE"
        }
        ("`body`", _) => {
            "policies:\n  - name: a\n    key: body.json.a\n    limit: { quota: 1, window: 1s }\n    body: { HOLE }"
        }
        ("a limit", "algorithm") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      quota: 1\n      window: 1s\n      HOLE"
        }
        ("a limit", "ttl") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: concurrency\n      slots: 1\n      HOLE"
        }
        ("a limit", "time_zone") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: fixed_window\n      quota: 1\n      window: day\n      HOLE"
        }
        ("a window", _) => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: fixed_window\n      quota: 1\n      window:\n        calendar: day\n        HOLE"
        }
        ("a schedule", _) => {
            "policies:\n  - name: a\n    key: host\n    limit: { quota: 1, window: 1s }\n    schedule:\n      days: mon\n      HOLE"
        }
        _ => panic!("no file around `{name}` of {what}: write one here"),
    }
}

fn meaning(text: &str) -> Config {
    match compiled(text) {
        Ok(compiled) => compiled.config,
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

/// Every default of the schema: what the mapping is, which field, and the value.
fn defaults(schema: &Value) -> Vec<(&str, &str, &Value)> {
    let definitions = schema["$defs"].as_object().unwrap().values();
    let mut defaults = Vec::new();
    for mapping in definitions.chain([schema]) {
        for (name, field) in mapping["properties"].as_object().into_iter().flatten() {
            if let Some(default) = field.get("default") {
                defaults.push((mapping["title"].as_str().unwrap(), &**name, default));
            }
        }
    }
    defaults
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let schema = schema();
    let defaults = defaults(&schema);
    assert!(defaults.len() > 50, "only {} defaults", defaults.len());
    for (what, name, default) in defaults {
        if name == "admin" {
            // An address that is written must be free, so that one is not the same when it is written.
            assert_eq!(default.as_str(), Some(&*Admin::DEFAULT.to_string()));
            continue;
        }
        let file = file_around(what, name);
        let (with, without) = (format!("{name}: {default}"), "");
        let [with, without] = [&with, without].map(|field| meaning(&file.replace(HOLE, field)));
        assert_eq!(format!("{with:?}"), format!("{without:?}"), "`{name}` of {what}");
    }
}

#[test]
fn a_value_that_is_no_default_changes_something() {
    let schema = schema();
    for (what, name, default) in defaults(&schema) {
        let mappings = schema["$defs"].as_object().unwrap().values();
        let mut mappings = mappings.chain([&schema]);
        let mapping = mappings.find(|mapping| mapping["title"] == what).unwrap();
        let examples = mapping["properties"][name]["examples"].as_array().unwrap();
        let Some(other) = examples.iter().find(|example| *example != default) else {
            continue;
        };
        let file = file_around(what, name);
        let (written, absent) = (format!("{name}: {other}"), "");
        let [written, absent] = [&written, absent].map(|field| meaning(&file.replace(HOLE, field)));
        assert_ne!(
            format!("{written:?}"),
            format!("{absent:?}"),
            "`{name}: {other}` of {what}"
        );
    }
}
