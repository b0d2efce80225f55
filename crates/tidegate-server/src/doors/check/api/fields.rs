//! Header fields in JSON: a value, or a list of values, by name.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::report::Report;

/// The fields that `value` holds. What is wrong with them is reported.
pub(super) fn fields(value: &Value, path: &str, report: &mut Report) -> HeaderMap {
    let mut fields = HeaderMap::new();
    let Some(members) = value.as_object() else {
        report.add(
            path,
            "write an object, with a text or a list of texts for each name",
        );
        return fields;
    };
    for (name, values) in members {
        let path = format!("{path}.{name}");
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            report.add(&path, "is no name of a header field");
            continue;
        };
        let several = values.as_array().map(Vec::as_slice);
        for value in several.unwrap_or(std::slice::from_ref(values)) {
            match value.as_str().map(HeaderValue::from_str) {
                Some(Ok(value)) => _ = fields.append(name.clone(), value),
                Some(Err(_)) => report.add(&path, "holds a character that no header field has"),
                None => report.add(&path, "write a text, or a list of texts"),
            }
        }
    }
    fields
}

/// `fields` as JSON, those of one name joined by commas. What is no text is left out.
pub(super) fn told(fields: &HeaderMap) -> Value {
    let mut members = Map::new();
    for name in fields.keys() {
        let values: Vec<&str> = fields
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        members.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    members.into()
}
