//! The policy files in `examples/` are real ones.

use std::fs;
use std::path::PathBuf;

use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, compile, in_words};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn every_example_compiles_without_a_warning() {
    let mut names = Vec::new();
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") || name == "keys.yaml" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let file = PolicyFile {
            name: &name,
            text: &text,
        };
        match compile(file, &KeyHasher::new([0; 16])) {
            Ok(compiled) => assert!(compiled.warnings.is_empty(), "{}", compiled.warnings),
            Err(problems) => panic!("{problems}"),
        }
        names.push(name);
    }
    names.sort();
    assert_eq!(
        names,
        [
            "ai-tokens.yaml",
            "graphql.yaml",
            "login.yaml",
            "public-api.yaml",
            "rehearsal.yaml",
            "shop.yaml",
            "sms.yaml",
            "tenants.yaml",
            "tidegate.yaml",
            "uploads.yaml",
            "webhooks.yaml"
        ]
    );
}

#[test]
fn the_default_file_allows_ten_at_once_and_half_a_request_per_second() {
    let text = fs::read_to_string(examples().join("tidegate.yaml")).unwrap();
    let file = PolicyFile {
        name: "tidegate.yaml",
        text: &text,
    };
    let compiled = compile(file, &KeyHasher::new([0; 16])).unwrap();
    let [policy] = compiled.config.policies.policies() else {
        panic!("one policy");
    };
    let words = in_words(&policy.limits[0].limit);
    assert_eq!(words, "1 per 2 s, burst 10: one every 2 s, full again after 20 s");
}

#[test]
fn every_policy_file_in_the_docs_compiles() {
    let text = |name: &str| fs::read_to_string(examples().join("../docs").join(name)).unwrap();
    let texts = [text("policy-file.md"), text("bodies.md")];
    let blocks = texts
        .iter()
        .flat_map(|text| text.split("```yaml\n").skip(1))
        .filter_map(|rest| rest.split("```").next());
    let mut seen = 0;
    for block in blocks {
        seen += 1;
        let file = PolicyFile {
            name: "docs",
            text: block,
        };
        if let Err(problems) = compile(file, &KeyHasher::new([0; 16])) {
            panic!("{problems}");
        }
    }
    assert!(seen > 4, "only {seen} blocks");
}

#[test]
fn the_reference_of_policy_files_tells_the_defaults_that_hold() {
    let file = PolicyFile {
        name: "empty.yaml",
        text: "policies: []",
    };
    let config = compile(file, &KeyHasher::new([0; 16])).unwrap().config;
    let path = examples().join("../docs/policy-file.md");
    let text = fs::read_to_string(path).unwrap();
    let (timeouts, bounds) = (config.gateway.timeouts, config.gateway.bounds);
    let bytes = config.store.memory_bytes;
    for told in [
        format!("| `listen` | `{}` |", config.gateway.listen[0].address),
        format!("| `connect` | `{}s` |", timeouts.connect.as_secs()),
        format!("| `request_header` | `{}s` |", timeouts.request_header.as_secs()),
        format!(
            "| `upstream_response` | `{}s` |",
            timeouts.upstream_response.as_secs()
        ),
        format!("| `policy_body` | `{}s` |", timeouts.policy_body.as_secs()),
        format!("| `max_body_memory` | `{}MiB` |", bounds.max_body_memory >> 20),
        format!("| `idle` | `{}s` |", timeouts.idle.as_secs()),
        format!("| `max_header_bytes` | `{}KiB` |", bounds.max_header_bytes / 1024),
        format!("| `max_headers` | {} |", bounds.max_headers),
        format!("| `max_connections` | {} |", bounds.max_connections),
        format!(
            "| `max_connections_per_address` | {} |",
            bounds.max_connections_per_address
        ),
        format!("| `min_body_rate` | {} |", bounds.min_body_rate),
        format!("the default, {} MiB", bytes / (1024 * 1024)),
        format!("| `ipv6_prefix` | {} |", config.identity.ipv6_prefix),
    ] {
        assert!(text.contains(&told), "the reference lacks: {told}");
    }
}
