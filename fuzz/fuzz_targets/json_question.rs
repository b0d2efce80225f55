//! Whatever bytes are asked in JSON, they are a question or told what is wrong with them, the same each time, and what they would charge is
//! bounded.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, PolicySet, compile};
use tidegate_server::fuzzed::{charges_of_question, descriptors_of_call};

static SET: LazyLock<PolicySet> = LazyLock::new(|| {
    let text = r#"
policies:
  - { name: all, key: [client.ip], limit: { quota: 1, window: 1s } }
  - { name: path, match: { path: "/a/{id}/**", query: { b: { present: true } } }, key: [path.id, query.b, header.x, cookie.c], on_missing: fallback, limit: { quota: 1, window: 1s } }
  - { name: body, match: { method: POST, body: { json.a: { prefix: x } } }, key: [body.form.a], on_missing: skip, limit: { quota: 1, window: 1s } }
  - { name: said, when: "request.host == 'a.test' || size(request.path) > 3", key: [client.ip], cost: "size(request.path)", limit: { quota: 9, window: 1s } }
  - { name: user, match: { domain: a, descriptor: [user] }, limit: { quota: 1, window: 1s } }
  - { name: path-user, match: { domain: a, descriptor: [{ path: "/a*" }, user] }, key: [descriptor.user], limit: { quota: 1, window: 1s } }
  - { name: call, match: { domain: a }, when: "descriptors[0].user != descriptors[1]['path']", key: ["descriptors[0].user"], on_missing: skip, on_error: skip, limit: { quota: 1, window: 1s } }
"#;
    let file = PolicyFile {
        name: "fuzz.yaml",
        text,
    };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => unreachable!("{problems}"),
    }
});

/// The most checks of a question, the most limits of one, and the most problems that are told.
const MOST: (usize, usize, usize) = (100, 16, 20);

/// What questions are made of, around what is arbitrary: no fuzzer finds the way in by itself.
const FRAMES: [(&str, &str); 5] = [
    ("", ""),
    (r#"{"request":"#, "}"),
    (
        r#"{"request":{"method":"POST","path":"/a/b","client":"192.0.2.1","#,
        "}}",
    ),
    (r#"{"domain":"a","descriptors":"#, "}"),
    (r#"{"checks":["#, "]}"),
];

fuzz_target!(|input: (u8, &str)| {
    let (frame, text) = input;
    let (before, after) = FRAMES[usize::from(frame) % FRAMES.len()];
    let asked = format!("{before}{text}{after}");
    let charges = charges_of_question(asked.as_bytes(), &SET);
    assert_eq!(charges, charges_of_question(asked.as_bytes(), &SET));
    match &charges {
        Ok(charges) => {
            assert!(
                charges.len() <= MOST.0 && charges.iter().all(|charges| *charges <= MOST.1),
                "{asked}"
            );
        }
        Err(problems) => assert!(!problems.is_empty() && problems.len() <= MOST.2, "{asked}"),
    }
    match descriptors_of_call(asked.as_bytes()) {
        Ok(descriptors) => assert!(descriptors <= 64, "{asked}"),
        Err(problems) => assert!(!problems.is_empty() && problems.len() <= MOST.2, "{asked}"),
    }
});
