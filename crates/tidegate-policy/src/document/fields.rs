//! The fields of a mapping, asked for one by one; what nobody asked for is an error.

use super::node::{Node, Place, Spanned, Value};
use super::report::{Report, any_of, nearest, quoted};

/// The fields of one mapping.
pub(crate) struct Fields<'n> {
    entries: &'n [(Spanned<String>, Node)],
    known: Vec<&'static str>,
    /// What the mapping describes, for messages: "a policy".
    what: &'static str,
    at: Place,
}

impl<'n> Fields<'n> {
    /// The fields of `node`, which describes `what`.
    pub(crate) fn of(node: &'n Node, what: &'static str, report: &mut Report<'_>) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} is a mapping, and this is {}", node.value.kind());
            report.error(node.at, message, format!("write {what} as `name: value` lines"));
            return None;
        };
        Some(Self {
            entries,
            known: Vec::new(),
            what,
            at: node.at,
        })
    }

    /// The value of the field `name`, if it was written.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.known.push(name);
        self.entries
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(_, node)| node)
    }

    /// Where the mapping begins.
    pub(crate) fn at(&self) -> Place {
        self.at
    }

    /// Where the name of the field `name` stands.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        self.entries
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(key, _)| key.at)
    }

    /// The value of a field that must be there.
    pub(crate) fn require(
        &mut self,
        name: &'static str,
        example: &str,
        report: &mut Report<'_>,
    ) -> Option<&'n Node> {
        let node = self.take(name);
        if node.is_none() {
            let message = format!("{} has no `{name}`", self.what);
            report.error(self.at, message, format!("add `{name}: {example}`"));
        }
        node
    }

    /// The value of the field `name` as `read` makes it.
    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        report: &mut Report<'_>,
        read: impl FnOnce(&'n Node, &mut Report<'_>) -> Option<T>,
    ) -> Option<T> {
        self.take(name).and_then(|node| read(node, report))
    }

    /// Reports every field nobody asked for.
    pub(crate) fn finish(self, report: &mut Report<'_>) {
        for (key, _) in self.entries {
            if self.known.contains(&key.value.as_str()) {
                continue;
            }
            let message = format!("{} has no field {}", self.what, quoted(&key.value));
            let cure = match nearest(&key.value, self.known.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("write {}", any_of(self.known.iter().copied())),
            };
            report.error(key.at, message, cure);
        }
    }
}

/// `node` as a list; a single value is a list of one.
pub(crate) fn one_or_many(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}
