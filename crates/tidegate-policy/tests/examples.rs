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
        ["api.yaml", "rehearsal.yaml", "tenants.yaml", "tidegate.yaml"]
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
