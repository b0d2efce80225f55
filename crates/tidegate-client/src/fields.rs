//! Header fields as JSON.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};

/// An object of values, and of lists of values where a name comes several times. What is no UTF-8 is replaced: left out, its client could hide it.
pub(crate) fn write<S: Serializer>(fields: &HeaderMap, serializer: S) -> Result<S::Ok, S::Error> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut object = serializer.serialize_map(Some(fields.keys_len()))?;
    for name in fields.keys() {
        let values: Vec<String> = fields.get_all(name).iter().map(text).collect();
        match &values[..] {
            [one] => object.serialize_entry(name.as_str(), one)?,
            _ => object.serialize_entry(name.as_str(), &values)?,
        }
    }
    object.end()
}

/// The fields of an object of texts. What can be no field is left out.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HeaderMap, D::Error> {
    let object = BTreeMap::<String, String>::deserialize(deserializer)?;
    let field = |(name, value): (String, String)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    Ok(object.into_iter().filter_map(field).collect())
}
