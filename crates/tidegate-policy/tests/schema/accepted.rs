//! What schema and compiler both accept, and what both refuse.

use std::fs;
use std::path::PathBuf;

use tidegate_policy::{Keyring, PolicyFile};

use super::{compiled, objections, read, schema, validator, yaml};

/// Where an example says how editors find the schema.
const EDITOR_LINE: &str = "# yaml-language-server: $schema=../docs/";

/// Names and texts of all examples.
fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let named = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).unwrap())
    });
    named.collect()
}

#[test]
fn every_example_is_valid_and_tells_editors_where_its_schema_is() {
    let examples = examples();
    assert!(examples.len() > 5, "only {} examples", examples.len());
    for (name, text) in examples {
        let schema = match &*name {
            "keys.yaml" => "keys.schema.json",
            _ => "tidegate.schema.json",
        };
        assert_eq!(
            text.lines().next(),
            Some(&*format!("{EDITOR_LINE}{schema}")),
            "{name}"
        );
        let schema = serde_json::from_str(&read(&format!("docs/{schema}"))).unwrap();
        assert_eq!(objections(&validator(&schema), &yaml::parse(&text)), "", "{name}");
    }
}

#[test]
fn every_policy_file_in_the_docs_is_valid() {
    let validator = validator(&schema());
    let mut seen = 0;
    for page in [
        "README.md",
        "docs/policy-file.md",
        "docs/bodies.md",
        "docs/expressions.md",
    ] {
        let text = read(page);
        for rest in text.split("```yaml\n").skip(1) {
            let block = rest.split("```").next().unwrap();
            assert_eq!(objections(&validator, &yaml::parse(block)), "", "{page}\n{block}");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} blocks");
}

/// `text` as one policy.
fn policy(text: &str) -> String {
    format!("policies: [{{ name: a, key: client.ip, {text} }}]")
}

/// `text` as a policy without a key, beside one that it could replace.
fn call(text: &str) -> String {
    format!("policies: [{{ name: a, {text} }}, {{ name: other, match: {{ domain: shop }}, {LIMIT} }}]")
}

const LIMIT: &str = "limit: { quota: 60, window: 1m }";

#[test]
fn short_and_long_forms_are_accepted_by_both() {
    let validator = validator(&schema());
    let right = [
        "policies: []".to_owned(),
        "store: { memory: 1048576 }".to_owned(),
        "store: unix:///run/redis.sock".to_owned(),
        "store: { redis: rediss://a.test, username: u, password_env: P, tls: { server_name: b.test }, timeout: 5ms }".to_owned(),
        "store: { sentinel: a.test, service: m, tls: {}, database: 1 }".to_owned(),
        "store: { cluster: [redis://a.test], prefix: x, key_secret_file: k }".to_owned(),
        format!("store: redis://a.test\n{}", policy(&format!("{LIMIT}, consistency: strict, local_share: 12.5%"))),
        "gateway: { listen: { address: \"[::1]:8080\" }, trusted_proxies: 10.0.0.7 }".to_owned(),
        "gateway: { upstream: \"unix:/run/app.sock\", request_ids: off, limits: { min_body_rate: 0 } }".to_owned(),
        "upstreams: { app: { servers: https://a.test/, ejection: off } }\ngateway: { upstream: app }".to_owned(),
        "identity: { jwt: { issuer: a, audience: b, algorithms: RS256, jwks: a.json } }\naccess: { deny: { subject: a, issuer: a } }".to_owned(),
        "access: { allow: [\"::1\", { file: a.txt }], deny: { subject: a, until: 2027-01-01T00:00:00+01:00 } }".to_owned(),
        "admin: off\naccess_log: { to: stderr }".to_owned(),
        "gateway: { listen: { address: 0.0.0.0:8443, tls: { certificates: { certificate: a, key: b }, min_version: 1.3 } } }".to_owned(),
        policy(&format!("{LIMIT}, cost: 'request.method == \"GET\" ? 1 : 2'")),
        policy(&format!("{LIMIT}, match: {{ headers: {{ x-a: [1, true, b], x-b: {{ present: false }} }} }}")),
        policy(&format!("{LIMIT}, schedule: {{ days: sat, hours: 22:00-06:00 }}")),
        policy("limits: { algorithm: leaky_bucket, quota: 1, window: 1s500ms, max_delay: 1s }"),
        policy("limits: [{ algorithm: fixed_window, quota: 1, window: { calendar: week, time_zone: UTC } }]"),
        call(&format!("{LIMIT}, match: {{ domain: 7 }}, key: 'descriptors[0].a', on_missing: skip")),
        call("match: { domain: shop, descriptor: a }, limit: unlimited, replaces: other"),
        call(&format!("match: {{ domain: shop, descriptor: [a, {{ b: 'c*' }}, {{ d: 1 }}] }}, key: [descriptor.a, 'descriptor[2]'], {LIMIT}")),
    ];
    for text in right {
        if let Err(problems) = compiled(&text) {
            panic!("{problems}");
        }
        assert_eq!(objections(&validator, &yaml::parse(&text)), "", "{text}");
    }
}

#[test]
fn what_is_wrong_is_refused_by_both() {
    let validator = validator(&schema());
    let jwt = "issuer: a, audience: b, algorithms: RS256";
    let wrong = [
        "gatway: {}".to_owned(),
        "gateway: [1]".to_owned(),
        "gateway: { listen: 8080 }".to_owned(),
        "gateway: { listen: [] }".to_owned(),
        "gateway: { upstream: ftp://a }".to_owned(),
        "gateway: { upstream: http://a/path }".to_owned(),
        "gateway: { trusted_proxies: 10.0.0.0/33 }".to_owned(),
        "gateway: { trusted_proxies: 10.0.0.256 }".to_owned(),
        "gateway: { trusted_proxies: 10.0.0.7, trusted_hops: 1 }".to_owned(),
        "gateway: { trusted_hops: 33 }".to_owned(),
        "gateway: { forwarded_field: x-real-ip }".to_owned(),
        "gateway: { timeouts: { idle: 60 } }".to_owned(),
        "gateway: { timeouts: { idle: 1m1h } }".to_owned(),
        "gateway: { timeouts: { idle: 1.5s } }".to_owned(),
        "gateway: { limits: { max_headers: 0 } }".to_owned(),
        "gateway: { limits: { max_body_bytes: 1TiB } }".to_owned(),
        "gateway: { listen: { address: 0.0.0.0:1, tls: {} } }".to_owned(),
        "upstreams: { app: { servers: [] } }".to_owned(),
        "upstreams: { app: { servers: http://a, ejection: on } }".to_owned(),
        "upstreams: { app: { servers: https://a, tls: { certificate: a } } }".to_owned(),
        "upstreams: { app: { servers: https://a, tls: { verify: false } } }".to_owned(),
        "routes: [{ match: { path: /a }, upstream: http://a, host: [] }]".to_owned(),
        "routes: [{ match: { body: { json.a: b } }, upstream: http://a }]".to_owned(),
        "store: redis".to_owned(),
        "store: http://a.test".to_owned(),
        "store: { sentinel: a.test }".to_owned(),
        "store: { redis: redis://a.test, prefix: '{a}' }".to_owned(),
        "store: { redis: redis://a.test, password: secret }".to_owned(),
        policy(&format!("{LIMIT}, local_share: half")),
        "identity: { api_key: { keys: keys.yaml } }".to_owned(),
        "identity: { api_key: { header: x y, keys: keys.yaml } }".to_owned(),
        "identity: { order: [jwt, jwt] }".to_owned(),
        format!("identity: {{ jwt: {{ {jwt} }} }}"),
        format!("identity: {{ jwt: {{ {jwt}, jwks: a, secret_env: B }} }}"),
        format!("identity: {{ jwt: {{ {jwt}, jwks: a, secret: B }} }}"),
        "identity: { jwt: { issuer: a, audience: b, algorithms: none, jwks: c } }".to_owned(),
        "access: { allow: { cidr: 10.0.0.0/8, subject: a } }".to_owned(),
        format!(
            "identity: {{ jwt: {{ {jwt}, jwks: a.json }} }}\naccess: {{ allow: {{ cidr: 10.0.0.0/8, issuer: a }} }}"
        ),
        "access: { allow: { file: a, until: 2027-01-01 } }".to_owned(),
        "access: { deny: { subject: a, until: tomorrow } }".to_owned(),
        "access: { deny: { country: de } }".to_owned(),
        "answers: { rate_limit: draft-12 }".to_owned(),
        "answers: { reject: { status: 200 } }".to_owned(),
        "answers: { reject: { content_type: text/html } }".to_owned(),
        "admin: on".to_owned(),
        "access_log: stdoud".to_owned(),
        "policies: {}".to_owned(),
        policy("mode: shadow"),
        policy(&format!("{LIMIT}, limits: []")),
        policy(&format!("{LIMIT}, mode: shade")),
        policy(&format!("{LIMIT}, consistency: leased")),
        policy(&format!("{LIMIT}, cost: [1]")),
        policy(&format!("{LIMIT}, match: {{ method: get }}")),
        policy(&format!("{LIMIT}, match: {{ path: login }}")),
        policy(&format!("{LIMIT}, match: {{ host: \"a:80\" }}")),
        policy(&format!(
            "{LIMIT}, match: {{ query: {{ a: {{ prefix: b, present: true }} }} }}"
        )),
        policy(&format!("{LIMIT}, match: {{ body: {{ xml.a: b }} }}")),
        policy(&format!("{LIMIT}, exempt: {{ file: a }}")),
        policy(&format!("{LIMIT}, schedule: {{ days: monday }}")),
        policy(&format!("{LIMIT}, schedule: {{ hours: 8-18 }}")),
        policy(&format!(
            "{LIMIT}, tiers: {{ \"a b\": {{ quota: 1, window: 1s }} }}"
        )),
        policy(&format!("{LIMIT}, overrides: {{ subject: a, {LIMIT} }}")),
        policy("limit: { quota: 60 }"),
        policy("limit: { quota: 0, window: 1m }"),
        policy("limit: { quota: 60, window: day }"),
        policy("limit: { quota: 60, window: 1m, max_delay: 1s }"),
        policy("limit: { algorithm: leaky, quota: 60, window: 1m }"),
        policy("limit: { algorithm: concurrency, slots: 10001 }"),
        policy("limit: { algorithm: concurrency, slots: 1, quota: 1 }"),
        policy("limit: { algorithm: sliding_window_log, quota: 10001, window: 1m }"),
        policy("limit: unlimited"),
        policy(&format!("{LIMIT}, replaces: b")),
        call(LIMIT),
        call("match: { domain: shop, descriptor: a }, limit: none"),
        call(&format!("match: {{ descriptor: a }}, {LIMIT}")),
        call(&format!("match: {{ domain: shop, descriptor: [] }}, {LIMIT}")),
        call(&format!(
            "match: {{ domain: shop, descriptor: [{{ a: 1, b: 2 }}] }}, {LIMIT}"
        )),
        call(&format!("match: {{ domain: shop, path: /a }}, {LIMIT}")),
        call(&format!("match: {{ domain: shop }}, exempt: 10.0.0.7, {LIMIT}")),
        call(&format!(
            "match: {{ domain: shop }}, on_missing: fallback, key: 'descriptors[0].a', {LIMIT}"
        )),
        "routes: [{ match: { domain: shop }, upstream: http://a }]".to_owned(),
    ];
    for text in wrong {
        assert!(compiled(&text).is_err(), "the compiler takes {text}");
        assert!(
            !validator.is_valid(&yaml::parse(&text)),
            "the schema takes {text}"
        );
    }
}

#[test]
fn a_keys_file_is_read_as_its_schema_says() {
    let schema = serde_json::from_str(&read("docs/keys.schema.json")).unwrap();
    let validator = validator(&schema);
    let key = format!("hash: sha256:{}", "0a".repeat(32));
    let files = [
        (true, "[]".to_owned()),
        (true, format!("[{{ {key}, subject: acme }}]")),
        (
            true,
            format!("[{{ {key}, subject: 7, tier: pro, revoked: true }}]"),
        ),
        (false, "{}".to_owned()),
        (false, format!("[{{ {key} }}]")),
        (false, "[{ hash: secret, subject: acme }]".to_owned()),
        (false, format!("[{{ {key}, subject: \"\" }}]")),
        (false, format!("[{{ {key}, subject: acme, revoked: yes }}]")),
        (false, format!("[{{ {key}, subject: acme, plan: pro }}]")),
    ];
    for (right, text) in files {
        let file = PolicyFile {
            name: "keys.yaml",
            text: &text,
        };
        assert_eq!(Keyring::parse(file).is_ok(), right, "the reader: {text}");
        assert_eq!(
            validator.is_valid(&yaml::parse(&text)),
            right,
            "the schema: {text}"
        );
    }
}
