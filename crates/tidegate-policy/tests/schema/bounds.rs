//! The bounds of whole numbers in the schema are those of the compiler.

use serde_json::Value;

use super::files::{HOLE, file_around};
use super::{compiled, schema};

#[test]
fn a_number_is_taken_at_its_bounds_and_not_beyond() {
    let schema = schema();
    let mut seen = 0;
    for mapping in schema["$defs"].as_object().unwrap().values() {
        let what = mapping["title"].as_str().unwrap_or_default();
        for (name, field) in mapping["properties"].as_object().into_iter().flatten() {
            if field["type"] != "integer" {
                continue;
            }
            let is_taken = |number: u64| {
                let written = format!("{name}: {number}");
                compiled(&file_around(what, name).replace(HOLE, &written)).is_ok()
            };
            let bound = |side: &str| field.get(side).and_then(Value::as_u64);
            let least = bound("minimum").unwrap();
            assert!(is_taken(least), "`{name}` of {what} at {least}");
            assert!(
                least == 0 || !is_taken(least - 1),
                "`{name}` of {what} below {least}"
            );
            if let Some(most) = bound("maximum") {
                assert!(is_taken(most), "`{name}` of {what} at {most}");
                assert!(!is_taken(most + 1), "`{name}` of {what} beyond {most}");
            }
            seen += 1;
        }
    }
    assert!(seen > 15, "only {seen} numbers");
}
