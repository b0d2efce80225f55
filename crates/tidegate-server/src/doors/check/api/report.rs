//! Reading JSON so that everything that is wrong with it is told at once.

use serde_json::{Map, Value};

/// The most problems that are told.
const MOST_PROBLEMS: usize = 20;

/// What is wrong, and where.
#[derive(Debug, Default)]
pub(super) struct Report {
    problems: Vec<(String, String)>,
}

impl Report {
    /// Notes a problem at `path`.
    pub(super) fn add(&mut self, path: &str, problem: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push((path.to_owned(), problem.into()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Place and problem of each.
    pub(super) fn into_problems(self) -> Vec<(String, String)> {
        self.problems
    }
}

/// The members of an object, each of which somebody has to read.
pub(super) struct Members<'v> {
    path: String,
    members: &'v Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'v> Members<'v> {
    /// Those of `value`. None, and a problem, if it is no object.
    pub(super) fn of(value: &'v Value, path: &str, report: &mut Report) -> Option<Self> {
        let Some(members) = value.as_object() else {
            report.add(path, "write an object");
            return None;
        };
        Some(Self {
            path: path.to_owned(),
            members,
            known: Vec::new(),
        })
    }

    /// Where the member `name` is.
    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() {
            return name.to_owned();
        }
        format!("{}.{name}", self.path)
    }

    /// The member `name`, if it is there and not null.
    pub(super) fn take(&mut self, name: &'static str) -> Option<&'v Value> {
        self.known.push(name);
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// The text `name`, if it is there.
    pub(super) fn text(&mut self, name: &'static str, report: &mut Report) -> Option<&'v str> {
        let value = self.take(name)?;
        let text = value.as_str();
        if text.is_none() {
            report.add(&self.path(name), "write a text");
        }
        text
    }

    /// The text `name`, which has to be there.
    pub(super) fn needed_text(&mut self, name: &'static str, report: &mut Report) -> Option<&'v str> {
        if self.take(name).is_none() {
            report.add(&self.path(name), "is missing: write a text");
            return None;
        }
        self.text(name, report)
    }

    /// The switch `name`; off if it is not there.
    pub(super) fn switch(&mut self, name: &'static str, report: &mut Report) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(on)) => *on,
            Some(_) => {
                report.add(&self.path(name), "write true or false");
                false
            }
        }
    }

    /// The whole number `name`, if it is there.
    pub(super) fn number(&mut self, name: &'static str, report: &mut Report) -> Option<u64> {
        let number = self.take(name)?.as_u64();
        if number.is_none() {
            report.add(&self.path(name), "write a whole number");
        }
        number
    }

    /// The list `name`, of at most `most`, if it is there.
    pub(super) fn list(
        &mut self,
        name: &'static str,
        most: usize,
        report: &mut Report,
    ) -> Option<&'v [Value]> {
        let value = self.take(name)?;
        match value.as_array() {
            Some(list) if list.len() <= most => Some(list),
            Some(list) => {
                let problem = format!("{} of them, at most {most}", list.len());
                report.add(&self.path(name), problem);
                None
            }
            None => {
                report.add(&self.path(name), "write a list");
                None
            }
        }
    }

    /// Complains about members that nobody has read.
    pub(super) fn end(self, report: &mut Report) {
        for name in self.members.keys() {
            if !self.known.contains(&name.as_str()) {
                let known = self.known.join("`, `");
                let problem = format!("is not known here: write one of `{known}`");
                report.add(&self.path(name), problem);
            }
        }
    }
}
