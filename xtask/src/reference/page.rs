//! The page: a section for each mapping, and one for the values that fields have.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::Value;

use super::schema::{Others, Schema};

const HEAD: &str = "\
# Reference

<!-- Made of tidegate.schema.json and keys.schema.json by `cargo xtask reference`. -->

Every field of a policy file and of a keys file. [The policy file](policy-file.md) tells what they do together;
[tidegate.schema.json](tidegate.schema.json) and [keys.schema.json](keys.schema.json) say the same to editors.
";

/// A page in the making.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new() -> Self {
        Self(HEAD.to_owned())
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    /// Adds all that `schema` describes.
    pub(super) fn add(&mut self, schema: &Schema) -> anyhow::Result<()> {
        let file = File(schema);
        file.section(schema, "##", &mut self.0)?;
        let definitions = || schema.definitions.iter().map(|(_, definition)| definition);
        for mapping in definitions().filter(|definition| is_mapping(definition)) {
            file.section(mapping, "###", &mut self.0)?;
        }
        let values: Vec<_> = definitions()
            .filter(|value| !is_mapping(value) && value.title.is_some())
            .collect();
        if !values.is_empty() {
            self.0 += "\n### Values\n\n| value | is written |\n| --- | --- |\n";
        }
        for value in values {
            let (title, sentence) = (text(&value.title)?, text(&value.description)?);
            let words = alternatives(value.words.iter().map(code));
            let words = if words.is_empty() {
                words
            } else {
                format!(" {words}.")
            };
            writeln!(self.0, "| {title} | {} |", cell(&format!("{sentence}{words}")))?;
        }
        Ok(())
    }
}

/// A file that a schema describes.
struct File<'s>(&'s Schema);

impl File<'_> {
    fn section(&self, mapping: &Schema, level: &str, page: &mut String) -> anyhow::Result<()> {
        let title = text(&mapping.title)?;
        let heading = capitalized(title);
        writeln!(page, "\n{level} {heading}\n\n{}", text(&mapping.description)?)?;
        let places = self.places(mapping)?;
        if !places.is_empty() {
            writeln!(page, "It is {}.", alternatives(places.into_iter()))?;
        }
        if !is_mapping(mapping) {
            let items = self.kind(mapping)?;
            writeln!(page, "It is a {items}.")?;
            return Ok(());
        }
        *page += "\n| field | type | default | |\n| --- | --- | --- | --- |\n";
        for (name, field) in mapping.properties.iter() {
            let default = match &field.default {
                _ if mapping.required.iter().any(|required| required == name) => "required".to_owned(),
                Some(default) => code(default),
                None => String::new(),
            };
            let sentence = text(&field.description).with_context(|| format!("{title}, {name}"))?;
            let kind = self.kind(field)?;
            writeln!(
                page,
                "| `{name}` | {} | {} | {} |",
                cell(&kind),
                cell(&default),
                cell(sentence)
            )?;
        }
        Ok(())
    }

    /// The fields whose value is `mapping`, in words.
    fn places(&self, mapping: &Schema) -> anyhow::Result<Vec<String>> {
        let definitions = self.0.definitions.iter().map(|(_, definition)| definition);
        let mut places = Vec::new();
        for holder in [self.0]
            .into_iter()
            .chain(definitions)
            .filter(|holder| is_mapping(holder))
        {
            for (name, field) in holder.properties.iter() {
                if self.leads_to(field, mapping)? {
                    places.push(format!("`{name}` of {}", link(text(&holder.title)?)));
                }
            }
        }
        Ok(places)
    }

    /// Whether `schema` is `mapping`, or a form or list of it; what other mappings hold does not count.
    fn leads_to(&self, schema: &Schema, mapping: &Schema) -> anyhow::Result<bool> {
        if let Some(reference) = &schema.reference {
            let definition = self.definition(reference)?;
            return Ok(std::ptr::eq(definition, mapping)
                || (!is_mapping(definition) && self.leads_to(definition, mapping)?));
        }
        let others = match &schema.others {
            Some(Others::Like(others)) => Some(&**others),
            Some(Others::Any(_)) | None => None,
        };
        for part in schema.forms.iter().chain(schema.items.as_deref()).chain(others) {
            if self.leads_to(part, mapping)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn definition(&self, reference: &str) -> anyhow::Result<&Schema> {
        let name = reference.strip_prefix("#/$defs/");
        let mut definitions = self.0.definitions.iter();
        let found = definitions.find(|(known, _)| Some(*known) == name);
        found
            .map(|(_, definition)| definition)
            .with_context(|| format!("nothing is at {reference}"))
    }

    /// What may stand there, in words.
    fn kind(&self, schema: &Schema) -> anyhow::Result<String> {
        if let Some(reference) = &schema.reference {
            let definition = self.definition(reference)?;
            return match &definition.title {
                Some(title) if is_mapping(definition) => Ok(link(title)),
                Some(title) => Ok(format!("[{title}](#values)")),
                None => self.kind(definition),
            };
        }
        if let Some(word) = &schema.word {
            return Ok(code(word));
        }
        if !schema.words.is_empty() {
            return Ok(alternatives(schema.words.iter().map(code)));
        }
        if !schema.forms.is_empty() {
            return self.forms(&schema.forms);
        }
        if let Some(items) = &schema.items {
            return Ok(format!("list: {}", self.kind(items)?));
        }
        if let Some(Others::Like(others)) = &schema.others {
            return Ok(format!("mapping of names to {}", self.kind(others)?));
        }
        Ok(match schema.kind.as_ref().and_then(Value::as_str) {
            Some("integer") => whole_number(schema),
            Some("boolean") => "`true` or `false`".to_owned(),
            _ => "text".to_owned(),
        })
    }

    /// One of `forms`; a list of one of them is said shorter.
    fn forms(&self, forms: &[Schema]) -> anyhow::Result<String> {
        let mut kinds: Vec<String> = Vec::new();
        for form in forms {
            let kind = self.kind(form)?;
            let several = kind
                .strip_prefix("list: ")
                .is_some_and(|one| kinds.iter().any(|kind| kind == one));
            kinds.push(if several { "a list".to_owned() } else { kind });
        }
        Ok(alternatives(kinds.into_iter()))
    }
}

fn is_mapping(schema: &Schema) -> bool {
    schema.properties.iter().next().is_some()
}

fn text(text: &Option<String>) -> anyhow::Result<&str> {
    text.as_deref().context("a title or a description is missing")
}

fn whole_number(schema: &Schema) -> String {
    match (schema.minimum, schema.maximum) {
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (Some(from), None) => format!("{from} or more"),
        _ => "whole number".to_owned(),
    }
}

/// `a`, `b` or `c`, each once.
fn alternatives(words: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for word in words {
        if !different.contains(&word) {
            different.push(word);
        }
    }
    match different.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// A value as it is written in a file.
fn code(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Array(items) => format!("`[{}]`", items.iter().map(bare).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", bare(value)));
            format!("`{{ {} }}`", fields.collect::<Vec<_>>().join(", "))
        }
        other => format!("`{other}`"),
    }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `title` as a heading; links to it stay the same.
fn capitalized(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A link to the section called `title`.
fn link(title: &str) -> String {
    let anchor = title.replace('`', "").replace(' ', "-").replace('\'', "");
    format!("[{title}](#{anchor})")
}

/// `text` as it stands in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::Page;

    const SCHEMA: &str = r##"{
        "title": "a file", "description": "A file.",
        "properties": {
            "z": { "description": "First.", "type": "integer", "minimum": 1, "maximum": 9, "default": 2 },
            "a": { "description": "This | that.", "oneOf": [{ "$ref": "#/$defs/b" }, { "type": "array", "items": { "$ref": "#/$defs/b" } }] },
            "c": { "description": "A word.", "enum": ["x", "y", "1.2", 1.2] }
        },
        "required": ["c"],
        "$defs": {
            "b": { "title": "`b` there", "description": "A part.", "properties": { "no": false, "v": { "description": "How long.", "$ref": "#/$defs/d" } } },
            "d": { "title": "duration", "description": "Numbers with units." }
        }
    }"##;

    #[test]
    fn a_schema_becomes_a_table_for_each_mapping_in_its_own_order() {
        let mut page = Page(String::new());
        page.add(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
        let expected = "
## A file

A file.

| field | type | default | |
| --- | --- | --- | --- |
| `z` | 1 to 9 | `2` | First. |
| `a` | [`b` there](#b-there) or a list |  | This \\| that. |
| `c` | `x`, `y` or `1.2` | required | A word. |

### `b` there

A part.
It is `a` of [a file](#a-file).

| field | type | default | |
| --- | --- | --- | --- |
| `v` | [duration](#values) |  | How long. |

### Values

| value | is written |
| --- | --- |
| duration | Numbers with units. |
";
        assert_eq!(page.finish(), expected);
    }
}
