//! Conditions and variables: which calls a limit counts, and by what.

use tidegate_core::KeyHasher;
use tidegate_policy::reading::{Place, Report, Spanned};
use tidegate_policy::{PolicyFile, Problem, Severity, compile};

use super::{old, tokens};
use crate::import::remarks::Remarks;
use crate::import::writing::{self, Limit, Mode, Policy};

/// What the conditions and variables of a limit mean.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    /// Which calls are counted.
    pub(super) when: Option<String>,
    /// What they are counted by.
    pub(super) key: Vec<String>,
}

/// What expressions call `limit.id` and `limit.name`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'l> {
    pub(super) id: Option<&'l str>,
    pub(super) name: Option<&'l str>,
}

impl Meaning {
    /// What `conditions` and `variables` mean together. None, after errors, if they cannot be said.
    pub(super) fn of(
        conditions: &[Spanned<String>],
        variables: &[Spanned<String>],
        names: Names<'_>,
        report: &mut Report<'_>,
        remarks: &mut Remarks,
    ) -> Option<Self> {
        let earlier_errors = report.errors();
        for expression in conditions.iter().chain(variables) {
            remark_on_what_differs(expression, remarks);
        }
        let said: Vec<String> = conditions
            .iter()
            .filter_map(|text| condition(text, names, report))
            .collect();
        let key = variables
            .iter()
            .filter_map(|text| variable(text, names, report, remarks))
            .collect();
        (report.errors() == earlier_errors).then(|| Self {
            when: joined(said),
            key,
        })
    }
}

/// All of `conditions` at once.
fn joined(conditions: Vec<String>) -> Option<String> {
    match &conditions[..] {
        [] => None,
        [only] => Some(only.clone()),
        several => {
            let several: Vec<String> = several.iter().map(|condition| format!("({condition})")).collect();
            Some(several.join(" && "))
        }
    }
}

fn condition(text: &Spanned<String>, names: Names<'_>, report: &mut Report<'_>) -> Option<String> {
    if let Some(old) = old::condition(&text.value) {
        old.refuse(text.at, report);
        return None;
    }
    let condition = tokens::with_names(&text.value, names);
    match problems(&condition, Field::When) {
        None => Some(condition),
        Some(problems) => {
            refuse(text, &problems, report);
            None
        }
    }
}

fn variable(
    text: &Spanned<String>,
    names: Names<'_>,
    report: &mut Report<'_>,
    remarks: &mut Remarks,
) -> Option<String> {
    if let Some(old) = old::variable(&text.value) {
        old.refuse(text.at, report);
        return None;
    }
    let variable = tokens::with_names(&text.value, names);
    if variable != text.value.trim() {
        let remark = "Limitador 0.14 never applies a limit whose variables name `limit`; here it counts";
        remarks.add(text.at, remark);
    }
    let Some(wrong) = problems(&variable, Field::Key) else {
        return Some(variable);
    };
    // A number alone would be taken for a name, and a fraction has to be a text, which Limitador makes of everything.
    let forms = [format!("({variable})"), format!("string({variable})")];
    let form = forms
        .into_iter()
        .find(|form| problems(form, Field::Key).is_none());
    if form.is_none() {
        refuse(text, &wrong, report);
    }
    form
}

/// Where an expression is to stand.
#[derive(Clone, Copy)]
enum Field {
    When,
    Key,
}

/// What is wrong with `expression` here, if anything is: asked of those who read policy files.
fn problems(expression: &str, field: Field) -> Option<Vec<Problem>> {
    let (when, key) = match field {
        Field::When => (Some(expression.to_owned()), Vec::new()),
        Field::Key => (None, vec![expression.to_owned()]),
    };
    let policy = Policy {
        at: Place::START,
        comment: Vec::new(),
        name: "asked".to_owned(),
        domain: "asked".to_owned(),
        descriptor: Vec::new(),
        when,
        key,
        limit: Limit::requests(1, 1),
        mode: Mode::Enforce,
        replaces: Vec::new(),
    };
    let file = PolicyFile {
        name: "asked",
        text: &writing::file("", &[policy]).text,
    };
    let problems = compile(file, &KeyHasher::new([0; 16])).err()?;
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let mut errors: Vec<Problem> = errors.cloned().collect();
    // What is wrong twice in one expression is told once: both have its place.
    errors.dedup_by(|one, other| one.message == other.message);
    Some(errors)
}

fn refuse(text: &Spanned<String>, problems: &[Problem], report: &mut Report<'_>) {
    for problem in problems {
        let message = format!("this cannot be said here: {}", problem.message);
        report.error(text.at, message, &problem.cure);
    }
}

fn remark_on_what_differs(text: &Spanned<String>, remarks: &mut Remarks) {
    if let Some(name) = tokens::macro_in(&text.value) {
        let remark = format!(
            "Limitador 0.14 takes what `{name}` gives a name to for a variable of the call, and never applies this limit; \
             here it counts"
        );
        remarks.add(text.at, remark);
    }
    if tokens::has_or(&text.value) {
        let remark = "where the left side of `||` reads what a call lacks, the right side decides here, as CEL has it; Limitador 0.14 \
             does not count the call";
        remarks.add(text.at, remark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_conditions_hold_together() {
        let two = vec!["a".to_owned(), "b || c".to_owned()];
        assert_eq!(joined(two).unwrap(), "(a) && (b || c)");
        assert_eq!(joined(vec!["a || b".to_owned()]).unwrap(), "a || b");
        assert_eq!(joined(Vec::new()), None);
    }
}
