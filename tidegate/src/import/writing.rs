//! The policy file, written so that people like to read it.

use std::fmt::Write;

use tidegate_policy::reading::Place;

/// One policy of the rate limit service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    /// Where what it is made of stands.
    pub(super) at: Place,
    /// Lines of comment before it.
    pub(super) comment: Vec<String>,
    pub(super) name: String,
    pub(super) domain: String,
    /// The entries of the descriptor it speaks about; empty if it speaks about whole calls.
    pub(super) descriptor: Vec<Entry>,
    /// Which calls it counts, as an expression.
    pub(super) when: Option<String>,
    /// What it counts by; empty if by the whole descriptor, or every call by the same.
    pub(super) key: Vec<String>,
    pub(super) limit: Limit,
    pub(super) mode: Mode,
    /// The names of policies that step back for it.
    pub(super) replaces: Vec<String>,
}

/// An entry of a descriptor: its key, and its value or a pattern of values, unless any will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Option<String>,
}

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Everything.
    Unlimited,
    /// Nothing.
    Nothing,
    /// So many in each window of so many seconds.
    FixedWindow { quota: u64, seconds: u64 },
}

impl Limit {
    /// So many requests in each window of so many seconds, which may be none at all.
    pub(super) fn requests(quota: u64, seconds: u64) -> Self {
        match quota {
            0 => Self::Nothing,
            quota => Self::FixedWindow { quota, seconds },
        }
    }
}

/// How a limit that lets nothing pass is written: no limit is zero, but what costs more than there ever is never passes.
const NOTHING: &str = "{ algorithm: fixed_window, quota: 1, window: 1s }";

/// Whether the limit is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Enforce,
    Shadow,
}

/// The door that is written into every file, so that it can be served as it is.
const DOOR: &str = "
# Where Envoy asks. For other machines: envoy: { listen: 0.0.0.0:8081, callers: [10.0.0.0/8] }
doors:
  envoy: 127.0.0.1:8081
";

/// A policy file as it was written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) text: String,
    /// The line on which each policy begins, and where what it is made of stands.
    places: Vec<(usize, Place)>,
}

impl Written {
    /// Where what `line` is made of stands, if it is of a policy.
    pub(super) fn place_of(&self, line: usize) -> Option<Place> {
        let after = self.places.partition_point(|(first, _)| *first <= line);
        Some(self.places.get(after.checked_sub(1)?)?.1)
    }
}

/// The policy file that says `policies`, beginning with `comment`.
pub(super) fn file(comment: &str, policies: &[Policy]) -> Written {
    let mut text = format!("# {}\n{DOOR}", printable(comment));
    let mut lines = text.lines().count() + 2;
    let mut places = Vec::new();
    text.push_str(if policies.is_empty() {
        "\npolicies: []\n"
    } else {
        "\npolicies:\n"
    });
    for (index, policy) in policies.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let begins = text.len();
        write_policy(&mut text, policy);
        places.push((lines, policy.at));
        lines += text[begins..].lines().count() + 1;
    }
    Written { text, places }
}

fn write_policy(text: &mut String, policy: &Policy) {
    for line in &policy.comment {
        push(text, format_args!("  # {}\n", printable(line)));
    }
    push(text, format_args!("  - name: {}\n", scalar(&policy.name)));
    let domain = scalar(&policy.domain);
    let entries: Vec<String> = policy.descriptor.iter().map(entry).collect();
    if entries.is_empty() {
        push(text, format_args!("    match: {{ domain: {domain} }}\n"));
    } else {
        let entries = entries.join(", ");
        push(
            text,
            format_args!("    match: {{ domain: {domain}, descriptor: [{entries}] }}\n"),
        );
    }
    if let Some(when) = &policy.when {
        push(text, format_args!("    when: {}\n", expression(when)));
    }
    if !policy.key.is_empty() {
        let parts: Vec<String> = policy.key.iter().map(|part| scalar(part)).collect();
        push(text, format_args!("    key: [{}]\n", parts.join(", ")));
    }
    if policy.descriptor.is_empty() && !policy.key.is_empty() {
        text.push_str("    on_missing: skip\n");
    }
    if policy.when.is_some() {
        text.push_str("    on_error: skip\n");
    }
    if policy.limit == Limit::Nothing {
        text.push_str("    cost: 1 + 1  # More than there ever is: nothing passes.\n");
    }
    push(text, format_args!("    limit: {}\n", limit(policy.limit)));
    if !policy.replaces.is_empty() {
        let names: Vec<String> = policy.replaces.iter().map(|name| scalar(name)).collect();
        push(text, format_args!("    replaces: [{}]\n", names.join(", ")));
    }
    if policy.mode == Mode::Shadow {
        text.push_str("    mode: shadow\n");
    }
}

fn entry(entry: &Entry) -> String {
    match &entry.value {
        None => scalar(&entry.key),
        Some(value) => format!("{{ {}: {} }}", scalar(&entry.key), scalar(value)),
    }
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::Unlimited => "unlimited".to_owned(),
        Limit::Nothing => NOTHING.to_owned(),
        Limit::FixedWindow { quota, seconds } => {
            format!(
                "{{ algorithm: fixed_window, quota: {quota}, window: {} }}",
                window(seconds)
            )
        }
    }
}

/// `seconds` in the largest unit that divides them.
fn window(seconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = UNITS
        .iter()
        .find(|(length, _)| seconds > 0 && seconds.is_multiple_of(*length));
    unit.map_or_else(
        || format!("{seconds}s"),
        |(length, unit)| format!("{}{unit}", seconds / length),
    )
}

/// `text` as the value of a field of its own line: folded, if it has both kinds of quotes.
fn expression(text: &str) -> String {
    let has_both = text.contains('\'') && text.contains('"');
    let begins_well = text.starts_with(|char: char| !char.is_whitespace());
    let ends_well = text.ends_with(|char: char| !char.is_whitespace());
    if has_both && begins_well && ends_well && !text.chars().any(needs_escape) {
        return format!(">-\n      {text}");
    }
    quoted(text)
}

/// `text` as YAML reads it back, in flow context as well: bare if nobody could take it for something else.
fn scalar(text: &str) -> String {
    let bare = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '/');
    let begins_well =
        text.starts_with(|char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '/'));
    let nothing = text.eq_ignore_ascii_case("null");
    if begins_well && text.chars().all(bare) && !nothing {
        return text.to_owned();
    }
    quoted(text)
}

/// `text` in quotes: single ones, unless others read better or are the only ones that can hold it.
fn quoted(text: &str) -> String {
    let is_plain = !text.chars().any(needs_escape);
    if is_plain && text.contains('\'') && !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    if is_plain {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            char if needs_escape(char) => push(&mut quoted, format_args!("\\U{:08X}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether `char` breaks lines, cannot be seen, or may not stand in YAML as it is.
fn needs_escape(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// `line` as a comment shows it: nothing in it ends the comment or steers a terminal.
fn printable(line: &str) -> String {
    line.chars()
        .map(|char| if needs_escape(char) { '\u{fffd}' } else { char })
        .collect()
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_policy::PolicyFile;
    use tidegate_policy::reading::{Report, Value, parse_all};

    use super::*;

    #[test]
    fn windows_are_told_in_the_largest_unit_that_divides_them() {
        for (seconds, told) in [
            (1, "1s"),
            (90, "90s"),
            (60, "1m"),
            (7200, "2h"),
            (604_800, "7d"),
            (31_536_000, "365d"),
        ] {
            assert_eq!(window(seconds), told);
        }
    }

    #[test]
    fn only_what_cannot_be_taken_for_something_else_stands_without_quotes() {
        for (text, written) in [
            ("remote_address", "remote_address"),
            ("/v1/items", "/v1/items"),
            ("", "''"),
            ("null", "'null'"),
            ("*", "'*'"),
            ("a: b", "'a: b'"),
            ("it's", "\"it's\""),
            ("'\"'", "'''\"'''"),
            ("a\nb\u{1}", "\"a\\nb\\U00000001\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_back_as_it_was(text in prop_oneof![any::<String>(), "[ '\"a#:\\\\]{0,9}"]) {
            let yaml = format!("    when: {}\n", expression(&text));
            let files = [PolicyFile { name: "made", text: &yaml }];
            let nodes = parse_all(&files, &mut Report::of(&files));
            let Value::Map(fields) = &nodes[0].value else { panic!("{yaml}") };
            prop_assert_eq!(&fields[0].1.value, &Value::Text(text.clone()));
            for written in [scalar(&text), quoted(&text)] {
                let yaml = format!("[{{ {written}: {written} }}, {written}]");
                let files = [PolicyFile { name: "made", text: &yaml }];
                let nodes = parse_all(&files, &mut Report::of(&files));
                let Value::List(items) = &nodes[0].value else { panic!("{yaml}") };
                let Value::Map(fields) = &items[0].value else { panic!("{yaml}") };
                prop_assert_eq!(&fields[0].0.value, &text);
                prop_assert_eq!(&fields[0].1.value, &Value::Text(text.clone()));
                prop_assert_eq!(&items[1].value, &Value::Text(text.clone()));
            }
        }
    }
}
