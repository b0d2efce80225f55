//! How older versions of Limitador wrote conditions and variables.

use tidegate_policy::reading::{Place, Report, quoted};

use super::tokens::literal;

/// An expression of older versions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Old<'t> {
    /// The entry that it names.
    entry: &'t str,
    /// How it goes on now behind that entry.
    rest: String,
}

impl Old<'_> {
    /// Says how it is written now.
    pub(super) fn refuse(&self, at: Place, report: &mut Report<'_>) {
        let Self { entry, rest } = self;
        let message = format!(
            "only older versions of Limitador know {} as an entry",
            quoted(entry)
        );
        let entry = literal(entry);
        let cure =
            format!("write `descriptors[0][{entry}]{rest}`, with the number of the descriptor that has it");
        report.error(at, message, cure);
    }
}

/// `text` as a comparison of the old form: `req.method == "POST"`, or the still older `req.method == POST`.
pub(super) fn condition(text: &str) -> Option<Old<'_>> {
    let sign = if text.contains("==") { "==" } else { "!=" };
    let (left, right) = text.split_once(sign)?;
    let (left, right) = (left.trim(), right.trim());
    let (entry, value) = match (is_entry(left), is_entry(right)) {
        (true, _) => (left, unquoted(right).or_else(|| is_bare(right).then_some(right))?),
        (false, true) => (right, unquoted(left)?),
        (false, false) => return None,
    };
    Some(Old {
        entry,
        rest: format!(" {sign} {}", literal(value)),
    })
}

/// `text` as a variable of the old form: `user_id`.
pub(super) fn variable(text: &str) -> Option<Old<'_>> {
    let entry = text.trim();
    is_entry(entry).then(|| Old {
        entry,
        rest: String::new(),
    })
}

/// Whether `text` is the name of an entry, and nothing that is known now.
fn is_entry(text: &str) -> bool {
    const KNOWN: [&str; 5] = ["descriptors", "limit", "true", "false", "null"];
    let first = text.split(['.', '-', ':', '/']).next().unwrap_or_default();
    let begins_well = text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    begins_well && is_bare(text) && !KNOWN.contains(&first)
}

fn is_bare(text: &str) -> bool {
    let bare = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-' | ':' | '/');
    !text.is_empty() && text.chars().all(bare)
}

/// What stands between the quotes of `text`, if it is one text.
fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|char| matches!(char, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains([quote, '\\'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_the_old_form_are_known_with_and_without_quotes() {
        for (text, entry, rest) in [
            ("req.method == \"POST\"", "req.method", " == \"POST\""),
            ("req.method != 'POST'", "req.method", " != \"POST\""),
            ("'POST' == req.method", "req.method", " == \"POST\""),
            ("req.method == POST", "req.method", " == \"POST\""),
            ("x == 5", "x", " == \"5\""),
        ] {
            let rest = rest.to_owned();
            assert_eq!(condition(text), Some(Old { entry, rest }), "{text}");
        }
    }

    #[test]
    fn what_is_written_as_today_is_not_taken_for_old() {
        for text in [
            "descriptors[0]['req.method'] == 'POST'",
            "descriptors[0].method == descriptors[1].method",
            "limit.name == 'x'",
            "true == false",
            "size(descriptors) == 2",
        ] {
            assert_eq!(condition(text), None, "{text}");
        }
        for text in ["descriptors[0].user_id", "'100'", "limit.id"] {
            assert_eq!(variable(text), None, "{text}");
        }
        assert!(variable(" user_id ").is_some());
    }
}
