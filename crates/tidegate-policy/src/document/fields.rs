//! The fields of a mapping, asked for one by one; what nobody asked for is an error.

use super::node::{Node, Place, Spanned, Value};
use super::report::{Report, any_of, nearest, quoted};

/// The fields of one mapping.
pub struct Fields<'n> {
    entries: &'n [(Spanned<String>, Node)],
    known: Vec<&'static str>,
    /// Names that are known only to be refused with words of their own.
    refused: Vec<&'static str>,
    /// What the mapping describes, for messages: "a policy".
    what: &'static str,
    at: Place,
}

impl<'n> Fields<'n> {
    /// The fields of `node`, which describes `what`.
    pub fn of(node: &'n Node, what: &'static str, report: &mut Report<'_>) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} is a mapping, and this is {}", node.value.kind());
            report.error(node.at, message, format!("write {what} as `name: value` lines"));
            return None;
        };
        Some(Self {
            entries,
            known: Vec::new(),
            refused: Vec::new(),
            what,
            at: node.at,
        })
    }

    /// The value of the field `name`, if it was written.
    pub fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.known.push(name);
        self.entries
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(_, node)| node)
    }

    /// Where the field `name` is written, which the caller refuses in words of its own: it is no field, and never proposed.
    pub(crate) fn refuse(&mut self, name: &'static str) -> Option<Place> {
        self.refused.push(name);
        self.place(name)
    }

    /// Where the mapping begins.
    pub(crate) fn at(&self) -> Place {
        self.at
    }

    /// Where the name of the field `name` stands.
    pub fn place(&self, name: &str) -> Option<Place> {
        self.entries
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(key, _)| key.at)
    }

    /// The value of a field that must be there.
    pub fn require(
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
    pub fn read<T>(
        &mut self,
        name: &'static str,
        report: &mut Report<'_>,
        read: impl FnOnce(&'n Node, &mut Report<'_>) -> Option<T>,
    ) -> Option<T> {
        self.take(name).and_then(|node| read(node, report))
    }

    /// Reports every field nobody asked for.
    pub fn finish(self, report: &mut Report<'_>) {
        #[cfg(test)]
        asked::note(self.what, &self.known);
        for (key, _) in self.entries {
            let name = key.value.as_str();
            if self.known.contains(&name) || self.refused.contains(&name) {
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

/// Which fields were asked for, for the test that holds the published schema against the readers.
#[cfg(test)]
pub(crate) mod asked {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    /// Names of fields, by what their mapping describes.
    pub(crate) type Asked = BTreeMap<&'static str, BTreeSet<&'static str>>;

    thread_local! {
        static ASKED: RefCell<Asked> = RefCell::default();
    }

    pub(super) fn note(what: &'static str, known: &[&'static str]) {
        ASKED.with_borrow_mut(|asked| asked.entry(what).or_default().extend(known));
    }

    /// All that was asked for on this thread so far.
    pub(crate) fn take() -> Asked {
        ASKED.take()
    }
}
