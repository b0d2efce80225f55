//! What was typed in files of Limitador, every value with its place.

use std::collections::BTreeSet;

use tidegate_policy::reading::{Fields, Node, Place, Report, Spanned, Value, integer, text};

/// One limit.
#[derive(Debug)]
pub(super) struct LimitText {
    pub(super) at: Place,
    pub(super) id: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) namespace: String,
    pub(super) max_value: u64,
    pub(super) seconds: u64,
    pub(super) conditions: Vec<Spanned<String>>,
    pub(super) variables: Vec<Spanned<String>>,
}

/// What Limitador tells limits apart by.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    namespace: String,
    seconds: u64,
    conditions: BTreeSet<String>,
    variables: BTreeSet<String>,
}

/// The limits that `root` describes.
pub(super) fn limits(root: &Node, report: &mut Report<'_>) -> Vec<LimitText> {
    match &root.value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| LimitText::read(item, report))
            .collect(),
        Value::Nothing => Vec::new(),
        other => {
            let message = format!(
                "a file of Limitador is a list of limits, and this is {}",
                other.kind()
            );
            report.error(root.at, message, "begin each limit with `- namespace: my_domain`");
            Vec::new()
        }
    }
}

impl LimitText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a limit", report)?;
        let namespace = fields.require("namespace", "my_domain", report);
        let namespace = namespace.and_then(|namespace| text(namespace, report));
        let max_value = fields.require("max_value", "10", report);
        let max_value = max_value.and_then(|max_value| integer(max_value, report));
        let seconds = fields.require("seconds", "60", report);
        let seconds = seconds.and_then(|seconds| span(seconds, report));
        let id = fields.read("id", report, maybe_text);
        let name = fields.read("name", report, maybe_text);
        let conditions = fields.take("conditions").map(|node| texts(node, report));
        let variables = fields.take("variables").map(|node| texts(node, report));
        fields.finish(report);
        Some(Self {
            at: node.at,
            id,
            name,
            namespace: namespace?.value,
            max_value: max_value?.value,
            seconds: seconds?.value,
            conditions: conditions.unwrap_or_default(),
            variables: variables.unwrap_or_default(),
        })
    }

    /// What Limitador tells limits apart by.
    pub(super) fn identity(&self) -> Identity {
        let set = |texts: &[Spanned<String>]| -> BTreeSet<String> {
            texts.iter().map(|text| text.value.clone()).collect()
        };
        Identity {
            namespace: self.namespace.clone(),
            seconds: self.seconds,
            conditions: set(&self.conditions),
            variables: set(&self.variables),
        }
    }
}

/// A length in seconds, of at least one and at most 292 years.
fn span(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    const MOST: u64 = i64::MAX as u64 / 1_000_000_000;
    let seconds = integer(node, report)?;
    if (1..=MOST).contains(&seconds.value) {
        return Some(seconds);
    }
    let message = format!("no window is {} seconds long", seconds.value);
    report.error(node.at, message, format!("write 1 to {MOST}"));
    None
}

fn maybe_text(node: &Node, report: &mut Report<'_>) -> Option<Spanned<String>> {
    match &node.value {
        Value::Nothing => None,
        Value::Text(text) if text.is_empty() => None,
        _ => text(node, report),
    }
}

/// A list of texts. Nothing is an empty list.
fn texts(node: &Node, report: &mut Report<'_>) -> Vec<Spanned<String>> {
    match &node.value {
        Value::List(items) => items.iter().filter_map(|item| text(item, report)).collect(),
        Value::Nothing => Vec::new(),
        other => {
            let message = format!("this is a list of expressions, and {} stands here", other.kind());
            report.error(node.at, message, "begin each expression with `- `");
            Vec::new()
        }
    }
}
