//! YAML as editors see it: scalars have the types of YAML 1.2's core schema.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// The one document in `text`.
pub(crate) fn parse(text: &str) -> Value {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        tree.take(event.unwrap().0);
    }
    tree.root
}

#[derive(Default)]
struct Tree {
    root: Value,
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
}

struct Open {
    value: Value,
    /// The name whose value comes next, in a mapping.
    name: Option<String>,
    anchor: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Scalar(text, style, anchor, _) => self.add(scalar(&text, style), anchor),
            Event::SequenceStart(_, anchor, _) => self.open(Value::Array(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => self.open(Value::Object(Map::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().unwrap();
                self.add(open.value, open.anchor);
            }
            Event::Alias(anchor) => self.add(self.anchors[&anchor].clone(), 0),
            _ => {}
        }
    }

    fn open(&mut self, value: Value, anchor: usize) {
        self.open.push(Open {
            value,
            name: None,
            anchor,
        });
    }

    fn add(&mut self, value: Value, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = value;
            return;
        };
        match (&mut open.value, open.name.take()) {
            (Value::Object(fields), Some(name)) => drop(fields.insert(name, value)),
            (Value::Object(_), None) => open.name = Some(as_name(&value)),
            (Value::Array(items), _) => items.push(value),
            _ => panic!("only lists and mappings are open"),
        }
    }
}

fn as_name(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ if is_number => number(text).map_or_else(|| text.into(), Value::Number),
        _ => text.into(),
    }
}

fn number(text: &str) -> Option<Number> {
    let whole = text.parse::<u64>().ok().map(Number::from);
    whole.or_else(|| Number::from_f64(text.parse().ok()?))
}
