//! Every field is described, with examples that are right.

use serde_json::{Map, Value, json};

use super::{objections, read, validator};

/// The fields of every mapping in `schema`, each with where it stands.
fn fields(schema: &Value) -> Vec<(String, &Value)> {
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let named = definitions.map(|(name, definition)| (format!("#/$defs/{name}"), definition));
    let mappings = named.chain([("#".to_owned(), schema)]);
    let fields = mappings.flat_map(|(at, mapping)| {
        let fields = mapping["properties"].as_object().into_iter().flat_map(Map::iter);
        fields.map(move |(name, field)| (format!("{at}/properties/{name}"), field))
    });
    fields.collect()
}

#[test]
fn every_field_has_a_sentence_and_examples_that_are_right() {
    for (page, at_least) in [("docs/tidegate.schema.json", 150), ("docs/keys.schema.json", 4)] {
        let schema: Value = serde_json::from_str(&read(page)).unwrap();
        let fields = fields(&schema);
        assert!(fields.len() >= at_least, "only {} fields in {page}", fields.len());
        for (at, field) in fields {
            let sentence = field["description"].as_str().unwrap_or_default();
            assert!(sentence.ends_with('.'), "{at} is described as {sentence:?}");
            let examples = field["examples"]
                .as_array()
                .unwrap_or_else(|| panic!("{at} has no examples"));
            assert!(!examples.is_empty(), "{at} has no examples");
            let mut alone = field.clone();
            alone["$defs"] = schema["$defs"].clone();
            let validator = validator(&alone);
            for value in examples.iter().chain(field.get("default")) {
                assert_eq!(objections(&validator, value), "", "{at}");
            }
        }
    }
}

#[test]
fn no_mapping_takes_a_field_that_is_not_described() {
    let schema: Value = serde_json::from_str(&read("docs/tidegate.schema.json")).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().values();
    for mapping in definitions
        .chain([&schema])
        .filter(|mapping| mapping.get("properties").is_some())
    {
        assert_eq!(
            mapping["additionalProperties"],
            json!(false),
            "{}",
            mapping["title"]
        );
    }
}
