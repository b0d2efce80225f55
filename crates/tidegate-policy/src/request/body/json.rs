//! One value out of a JSON text. The whole text is read, or what follows could say otherwise; nothing but the value is kept.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{Scalar, Seen, folded, same_name};

/// The value of `text` at `path`: members of objects by name, elements of arrays by number.
///
/// Unclear if `text` is not one JSON value and nothing more, or if an object on the way has two members of the name.
pub(crate) fn pick<'t>(text: &'t str, path: &[impl AsRef<str>]) -> Seen<'t> {
    let mut json = serde_json::Deserializer::from_str(text);
    match Pick(path).deserialize(&mut json) {
        Ok(seen) if json.end().is_ok() => seen,
        _ => Seen::Unclear,
    }
}

/// How many elements the array in `text` has; none if it is no array, or not JSON.
pub(crate) fn array_len(text: &str) -> Option<usize> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let elements: Vec<IgnoredAny> = serde_json::from_str(text).ok()?;
    Some(elements.len())
}

/// The whole of `text`. None if it is not JSON, is nested more than 127 deep, or if an object has two members whose names are the
/// same but for case.
pub(crate) fn document(text: &str) -> Option<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Whole.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(value)
}

/// The one spelling of a number. Whole numbers are told apart exactly as far as they have 64 bits, others as doubles.
fn number(value: f64) -> Scalar<'static> {
    // Adding zero takes the sign from a zero.
    Scalar::number(format!("{}", value + 0.0))
}

/// Takes the value at the end of a path.
struct Pick<'p, P>(&'p [P]);

impl<'de, P: AsRef<str>> DeserializeSeed<'de> for Pick<'_, P> {
    type Value = Seen<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Seen<'de>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<P> Pick<'_, P> {
    /// A value that is not an object nor an array: what the path looks for only if it ends here.
    fn leaf<'de>(&self, scalar: impl FnOnce() -> Scalar<'de>) -> Seen<'de> {
        if self.0.is_empty() {
            Seen::Value(scalar())
        } else {
            Seen::Absent
        }
    }
}

impl<'de, P: AsRef<str>> Visitor<'de> for Pick<'_, P> {
    type Value = Seen<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| Scalar::bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| Scalar::number(value.to_string())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| Scalar::number(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| number(value)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| Scalar::text(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Seen<'de>, E> {
        Ok(self.leaf(|| Scalar::text(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<Seen<'de>, E> {
        Ok(Seen::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Seen<'de>, A::Error> {
        let wanted = self.0.split_first();
        let index = wanted.and_then(|(first, _)| first.as_ref().parse::<usize>().ok());
        let mut seen = Seen::Absent;
        if let (Some((_, rest)), Some(index)) = (wanted, index) {
            for _ in 0..index {
                if elements.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(Seen::Absent);
                }
            }
            seen = elements.next_element_seed(Pick(rest))?.unwrap_or(Seen::Absent);
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(seen)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Seen<'de>, A::Error> {
        let mut seen = None;
        while let Some(wanted) = members.next_key_seed(Name(self.0.first()))? {
            let Some((_, rest)) = self.0.split_first().filter(|_| wanted) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = members.next_value_seed(Pick(rest))?;
            seen = match seen {
                None => Some(value),
                Some(_) => Some(Seen::Unclear),
            };
        }
        Ok(seen.unwrap_or(Seen::Absent))
    }
}

/// Whether a member's name is the wanted one.
struct Name<'p, P>(Option<&'p P>);

impl<'de, P: AsRef<str>> DeserializeSeed<'de> for Name<'_, P> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl<P: AsRef<str>> Visitor<'_> for Name<'_, P> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(self.0.is_some_and(|wanted| same_name(name, wanted.as_ref())))
    }
}

/// Whether `name` is ASCII without capitals.
fn is_folded(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
}

fn fold(name: &str) -> String {
    if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        folded(name).collect()
    }
}

/// Takes everything.
struct Whole;

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(Whole)? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let twice = || A::Error::custom("two members of one name");
        let mut object = Map::new();
        // Of the names that look different without case. The others, nearly all, are kept apart by the object.
        let mut folds = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !is_folded(&name) && !folds.insert(fold(&name)) {
                return Err(twice());
            }
            if object.insert(name, members.next_value_seed(Whole)?).is_some() {
                return Err(twice());
            }
        }
        // Only a fold in ASCII can be one of the others' names.
        if folds
            .iter()
            .any(|fold| is_folded(fold) && object.contains_key(fold))
        {
            return Err(twice());
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked<'t>(text: &'t str, path: &str) -> Seen<'t> {
        pick(text, &path.split('.').collect::<Vec<_>>())
    }

    fn text(text: &str) -> Seen<'_> {
        Seen::Value(Scalar::text(text))
    }

    fn number(text: &str) -> Seen<'_> {
        Seen::Value(Scalar::number(text.to_owned()))
    }

    #[test]
    fn members_and_elements_are_found_by_their_path() {
        let json = r#"{"user":{"name":"ann","1":"one"},"items":[{"id":7},{"id":8}],"ok":true}"#;
        assert_eq!(picked(json, "user.name"), text("ann"));
        assert_eq!(picked(json, "user.1"), text("one"));
        assert_eq!(picked(json, "items.1.id"), number("8"));
        assert_eq!(picked(json, "ok"), Seen::Value(Scalar::bool(true)));
        for nowhere in [
            "user",
            "items",
            "user.name.first",
            "items.2.id",
            "items.id",
            "none",
            "ok.0",
        ] {
            assert_eq!(picked(json, nowhere), Seen::Absent, "{nowhere}");
        }
        assert_eq!(picked(r#"{"user":null}"#, "user"), Seen::Absent);
        assert_eq!(picked("[[1,2],[3]]", "0.1"), number("2"));
    }

    #[test]
    fn a_member_that_comes_twice_is_unclear_however_it_is_spelt() {
        for json in [
            r#"{"user":"ann","user":"bob"}"#,
            r#"{"user":"ann","user":"ann"}"#,
            r#"{"user":"ann","us\u0065r":"bob"}"#,
            r#"{"user":"ann","USER":"bob"}"#,
            r#"{"u\u017fer":"ann","user":"bob"}"#,
            r#"{"user":null,"user":"bob"}"#,
        ] {
            assert_eq!(picked(json, "user"), Seen::Unclear, "{json}");
            assert_eq!(document(json), None, "{json}");
        }
        let deeper = r#"{"a":{"user":"ann"},"a":{}}"#;
        assert_eq!(picked(deeper, "a.user"), Seen::Unclear);
        // Elsewhere it concerns nobody.
        assert_eq!(picked(r#"{"x":1,"x":2,"user":"ann"}"#, "user"), text("ann"));
    }

    #[test]
    fn a_member_in_other_letters_is_what_readers_without_case_take_it_for() {
        assert_eq!(picked(r#"{"UserName":"ann"}"#, "username"), text("ann"));
        assert_eq!(picked(r#"{"us\u0065rname":"\u0061nn"}"#, "username"), text("ann"));
    }

    #[test]
    fn what_is_not_one_json_value_is_unclear() {
        for json in [
            "",
            "{",
            r#"{"user":"ann"} x"#,
            r#"{"user":"ann"}{"user":"bob"}"#,
            r#"{"user":"ann",}"#,
            r#"{'user':'ann'}"#,
            r#"{"user":"ann"/**/}"#,
            "\u{feff}{\"user\":\"ann\"}",
            r#"{"user":"\ud800"}"#,
            r#"{"user":NaN}"#,
            r#"{"user":1e999}"#,
        ] {
            assert_eq!(picked(json, "user"), Seen::Unclear, "{json}");
        }
    }

    #[test]
    fn a_number_has_one_spelling_for_each_value() {
        for (spellings, value) in [
            (&["1", "1.0", "1e0", "10e-1", "1.00000000000000000001"][..], "1"),
            (&["0", "-0", "0.0", "-0.0", "0e9"], "0"),
            (&["0.1", "1e-1", "0.10"], "0.1"),
            (&["18446744073709551615"], "18446744073709551615"),
            (&["9007199254740993"], "9007199254740993"),
            (&["-7", "-7.0"], "-7"),
        ] {
            for spelling in spellings {
                let json = format!(r#"{{"n":{spelling}}}"#);
                assert_eq!(picked(&json, "n"), number(value), "{spelling}");
            }
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(60_000);
        assert_eq!(picked(&deep, "a"), Seen::Unclear);
        let skipped = format!(
            r#"{{"x":{}{},"user":"ann"}}"#,
            "[".repeat(30_000),
            "]".repeat(30_000)
        );
        assert_eq!(picked(&skipped, "user"), text("ann"));
        assert_eq!(document(&skipped), None);
    }

    #[test]
    fn a_document_is_what_serde_json_reads() {
        let json = r#"{"a":[1,-2,0.5,"x",true,null],"b":{"c":{}}}"#;
        assert_eq!(document(json), serde_json::from_str(json).ok());
        assert_eq!(document("1 2"), None);
        assert_eq!(array_len("[1,[2,3],{}]"), Some(3));
        assert_eq!(array_len("{}"), None);
        assert_eq!(array_len("[1"), None);
    }
}
