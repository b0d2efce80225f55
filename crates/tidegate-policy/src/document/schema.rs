//! The readers know the fields that the published schema describes, no more and no fewer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::fields::asked;
use super::{Document, node};
use crate::document::report::Report;

/// Reaches every mapping of a policy file, each of them empty or almost so.
const EVERY_MAPPING: &str = "
gateway: { listen: { tls: { certificates: {} } }, timeouts: {}, limits: {} }
doors: { envoy: {}, redis: {} }
upstreams: { app: { servers: {}, tls: {}, health: {}, ejection: {} } }
routes: [{ match: { headers: { a: {} } } }]
store: { tls: {} }
identity: { api_key: {}, jwt: {} }
access: { allow: {} }
answers: { reject: {} }
admin: {}
access_log: {}
policies: [{ body: {}, limit: { window: {} }, overrides: {}, schedule: {} }]
";

type Fields = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The fields that readers ask for, by what their mapping describes.
fn known_to_readers() -> Fields {
    let mut report = Report::new("every.yaml", EVERY_MAPPING);
    let tree = node::parse(EVERY_MAPPING, &mut report).unwrap();
    asked::take();
    Document::read(&tree, &mut report);
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    let asked = asked::take().into_iter();
    asked
        .map(|(what, names)| (what.to_owned(), owned(names)))
        .collect()
}

/// The fields that the schema describes, by the title of their mapping.
fn known_to_the_schema() -> Fields {
    let text = fs::read_to_string(root().join("../../docs/tidegate.schema.json")).unwrap();
    let schema: Json = serde_json::from_str(&text).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().values();
    let mappings = definitions.chain([&schema]).filter_map(|mapping| {
        let names = mapping["properties"].as_object()?.keys().cloned().collect();
        Some((mapping["title"].as_str().unwrap().to_owned(), names))
    });
    mappings.collect()
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    let (read, described) = (known_to_readers(), known_to_the_schema());
    for (what, names) in &read {
        assert_eq!(
            described.get(what),
            Some(names),
            "fields of {what} in docs/tidegate.schema.json"
        );
    }
    let titles: Vec<_> = described.keys().collect();
    assert_eq!(titles, read.keys().collect::<Vec<_>>());
}

/// What every mapping in the sources below `folder` describes.
fn written_in(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            written_in(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let readers = text.split(concat!("Fields::", "of(")).skip(1);
        found.extend(readers.filter_map(|rest| Some(rest.split('"').nth(1)?.to_owned())));
    }
}

#[test]
fn every_mapping_that_is_read_anywhere_is_reached_here() {
    let mut written = BTreeSet::new();
    written_in(&root().join("src"), &mut written);
    let read: BTreeSet<String> = known_to_readers().into_keys().collect();
    assert_eq!(read, written);
}
