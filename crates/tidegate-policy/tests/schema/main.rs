//! The published schema says what the compiler says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod accepted;
mod annotations;
mod bounds;
mod defaults;
mod files;
mod words;
mod yaml;

use std::fs;
use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::Value;
use tidegate_core::KeyHasher;
use tidegate_policy::{Compiled, PolicyFile, Problems, compile};

/// The file at `path`, seen from the root of the repository.
fn read(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// The schema of policy files.
fn schema() -> Value {
    serde_json::from_str(&read("docs/tidegate.schema.json")).unwrap()
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).unwrap()
}

/// What `validator` has against `value`, a line for each thing.
fn objections(validator: &Validator, value: &Value) -> String {
    let errors = validator.iter_errors(value);
    let lines: Vec<_> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    lines.join("\n")
}

fn compiled(text: &str) -> Result<Compiled, Problems> {
    let name = "test.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
}
