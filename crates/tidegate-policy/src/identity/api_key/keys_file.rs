//! The file of API keys.
//!
//! Whoever writes it may put a key where its hash belongs, or anywhere else. So no message shows anything that is written
//! there, only where it is.

use super::digest::KeyDigest;
use super::keyring::{Entry, Keyring};
use crate::document::node::{self, MAX_FILE_BYTES, Node, Place, Spanned, Value};
use crate::document::report::{Report, nearest};
use crate::{Identity, PolicyFile, Problems, Tier};

/// The most characters of a subject or a tier.
const MAX_NAME_CHARS: usize = 128;

/// The fields of an entry.
const FIELDS: [&str; 4] = ["hash", "subject", "tier", "revoked"];

/// How to write a hash.
const HASH_CURE: &str =
    "write what `tidegate hash-key` prints: `sha256:` and 64 hexadecimal digits, never the key itself";

/// The keys that a file lists.
pub(super) fn parse(file: PolicyFile<'_>) -> Result<Keyring, Problems> {
    // Without the text, so that the report shows no line of it.
    let mut report = Report::new(file.name, "");
    let mut keyring = Keyring::default();
    if let Some(root) = tree(file.text, &mut report) {
        read(&root, &mut keyring, &mut report);
    }
    if report.has_problems() {
        Err(report.finish())
    } else {
        Ok(keyring)
    }
}

/// The tree of `text`. The parser's messages may quote the text, so only their places are kept.
fn tree(text: &str, report: &mut Report<'_>) -> Option<Node> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!(
            "the keys file is larger than {} MiB",
            MAX_FILE_BYTES / (1024 * 1024)
        );
        report.error(Place::START, message, "remove keys that nobody uses any more");
        return None;
    }
    let mut quoting = Report::new("", "");
    let root = node::parse(text, &mut quoting);
    let found = quoting.finish();
    for problem in &found {
        let at = Place {
            line: problem.line,
            column: problem.column,
            width: 1,
        };
        let cure = "write each key as `- { hash: sha256:…, subject: … }`, every field once";
        report.error(at, "this is not YAML as a keys file has it", cure);
    }
    if root.is_none() && found.is_empty() {
        report.error(
            Place::START,
            "the file is empty",
            "write `[]` if there are no keys",
        );
    }
    root
}

fn read(root: &Node, keyring: &mut Keyring, report: &mut Report<'_>) {
    let Value::List(entries) = &root.value else {
        let message = format!("a keys file is a list, and this is {}", root.value.kind());
        report.error(
            root.at,
            message,
            "write each key as `- { hash: sha256:…, subject: … }`, or `[]` for none",
        );
        return;
    };
    for node in entries {
        let Some((digest, entry)) = read_entry(node, keyring, report) else {
            continue;
        };
        if keyring.add(digest.value, entry).is_err() {
            report.error(
                digest.at,
                "this key is in the file already",
                "remove one of the two",
            );
        }
    }
}

fn read_entry(
    node: &Node,
    keyring: &mut Keyring,
    report: &mut Report<'_>,
) -> Option<(Spanned<KeyDigest>, Entry)> {
    let Value::Map(fields) = &node.value else {
        let message = format!("a key's entry is a mapping, and this is {}", node.value.kind());
        report.error(node.at, message, "write `hash: sha256:…` and `subject: …`");
        return None;
    };
    for (name, _) in fields {
        refuse_unknown(name, report);
    }
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| key.value == name)
            .map(|(_, node)| node)
    };
    let digest = required(field("hash"), node.at, "hash", report).and_then(|node| read_hash(node, report));
    let subject =
        required(field("subject"), node.at, "subject", report).and_then(|node| read_name(node, report));
    let tier = field("tier").map(|node| read_tier(node, keyring, report));
    let revoked = field("revoked").map_or(Some(false), |node| read_revoked(node, report));
    let tier = match tier {
        Some(tier) => Some(tier?),
        None => None,
    };
    let identity = Identity::of_api_key(subject?, tier);
    Some((
        digest?,
        Entry {
            identity,
            revoked: revoked?,
        },
    ))
}

fn refuse_unknown(name: &Spanned<String>, report: &mut Report<'_>) {
    if FIELDS.contains(&name.value.as_str()) {
        return;
    }
    let cure = match nearest(&name.value, FIELDS) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "its fields are `hash`, `subject`, `tier` and `revoked`".to_owned(),
    };
    report.error(name.at, "a key's entry has no such field", cure);
}

fn required<'n>(field: Option<&'n Node>, at: Place, name: &str, report: &mut Report<'_>) -> Option<&'n Node> {
    if field.is_none() {
        report.error(
            at,
            format!("a key's entry has no `{name}`"),
            format!("add `{name}: …`"),
        );
    }
    field
}

fn read_hash(node: &Node, report: &mut Report<'_>) -> Option<Spanned<KeyDigest>> {
    let digest = match &node.value {
        Value::Text(text) => KeyDigest::parse(text),
        _ => None,
    };
    if digest.is_none() {
        report.error(node.at, "this is not the hash of a key", HASH_CURE);
    }
    digest.map(|value| Spanned { value, at: node.at })
}

fn read_name<'n>(node: &'n Node, report: &mut Report<'_>) -> Option<&'n str> {
    let fits = |text: &&String| {
        let chars = text.chars().count();
        (1..=MAX_NAME_CHARS).contains(&chars) && !text.chars().any(char::is_control)
    };
    let name = match &node.value {
        Value::Text(text) => Some(text).filter(fits),
        _ => None,
    };
    if name.is_none() {
        let cure = format!("write 1 to {MAX_NAME_CHARS} characters on one line");
        report.error(node.at, "this is not a name", cure);
    }
    name.map(String::as_str)
}

fn read_tier(node: &Node, keyring: &mut Keyring, report: &mut Report<'_>) -> Option<Tier> {
    let tier = read_name(node, report)?.into();
    keyring.note_tier(&tier, node.at);
    Some(tier)
}

fn read_revoked(node: &Node, report: &mut Report<'_>) -> Option<bool> {
    match &node.value {
        Value::Text(text) if text == "true" => Some(true),
        Value::Text(text) if text == "false" => Some(false),
        _ => {
            report.error(
                node.at,
                "`revoked` is true or false",
                "write `revoked: true` or `revoked: false`",
            );
            None
        }
    }
}
