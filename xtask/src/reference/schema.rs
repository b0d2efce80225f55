//! As much of JSON Schema as the page needs. Fields keep the order in which they are written.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A schema.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Schema {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<Value>,
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    #[serde(rename = "$defs")]
    pub(super) definitions: Named,
    #[serde(rename = "type")]
    pub(super) kind: Option<Value>,
    #[serde(rename = "enum")]
    pub(super) words: Vec<Value>,
    #[serde(rename = "const")]
    pub(super) word: Option<Value>,
    pub(super) minimum: Option<u64>,
    pub(super) maximum: Option<u64>,
    #[serde(rename = "oneOf")]
    pub(super) forms: Vec<Schema>,
    pub(super) items: Option<Box<Schema>>,
    pub(super) required: Vec<String>,
    pub(super) properties: Named,
    #[serde(rename = "additionalProperties")]
    pub(super) others: Option<Others>,
}

/// A schema, or whether there may be anything at all.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Others {
    /// Anything, or nothing.
    Any(#[expect(dead_code, reason = "its shape alone tells it from a schema")] bool),
    /// What fits this.
    Like(Box<Schema>),
}

/// Schemas with names.
#[derive(Debug, Default)]
pub(super) struct Named(pub(super) Vec<(String, Others)>);

impl Named {
    /// All that say more than yes or no.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Schema)> {
        self.0.iter().filter_map(|(name, schema)| match schema {
            Others::Like(schema) => Some((&**name, &**schema)),
            Others::Any(_) => None,
        })
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Named;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("schemas with names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut named = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    named.push(entry);
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
