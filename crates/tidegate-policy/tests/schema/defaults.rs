//! A default that the schema tells is the one that holds: written out, it changes nothing.

use serde_json::Value;
use tidegate_policy::{Admin, Config};

use super::files::{HOLE, file_around};
use super::{compiled, schema};

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
