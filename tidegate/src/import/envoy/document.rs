//! What was typed in files of envoyproxy/ratelimit, every value with its place.

use std::collections::HashMap;

use tidegate_policy::reading::{Fields, Node, Place, Report, Spanned, Value, choice, integer, quoted, text};

use super::Domains;
use crate::import::remarks::Remarks;

/// One file.
#[derive(Debug)]
pub(super) struct Domain {
    pub(super) name: Spanned<String>,
    pub(super) descriptors: Vec<Descriptor>,
}

/// An entry of a descriptor, and what may come behind it.
#[derive(Debug)]
pub(super) struct Descriptor {
    /// Where its key stands.
    pub(super) at: Place,
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) limit: Option<RateLimit>,
    pub(super) shadow_mode: bool,
    /// Whether all values that match share one counter.
    pub(super) share_threshold: bool,
    pub(super) descriptors: Vec<Descriptor>,
}

/// A `rate_limit`.
#[derive(Debug)]
pub(super) struct RateLimit {
    pub(super) at: Place,
    pub(super) rule: Rule,
    pub(super) name: Option<Spanned<String>>,
    pub(super) replaces: Vec<Spanned<String>>,
}

/// What a `rate_limit` allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Unlimited,
    /// So many in each window of so many seconds.
    Requests {
        per_unit: u32,
        seconds: u64,
    },
}

/// What a unit is in seconds. Windows follow each other from the epoch on, so a week begins on Thursday and months have 30 days.
const UNITS: [(&str, u64); 7] = [
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86_400),
    ("week", 7 * 86_400),
    ("month", 30 * 86_400),
    ("year", 365 * 86_400),
];

/// Fields that change no decision, and what becomes of them.
const LEFT_OUT: [(&str, &str); 3] = [
    (
        "detailed_metric",
        "metrics have no entries of descriptors as labels",
    ),
    (
        "value_to_metric",
        "metrics have no entries of descriptors as labels",
    ),
    ("metadata", "the policy's name is what dynamic metadata tells"),
];

impl Domain {
    /// The domain that `root` describes.
    pub(super) fn read(root: &Node, report: &mut Report<'_>, remarks: &mut Remarks) -> Option<Self> {
        let mut fields = Fields::of(root, "a file of ratelimit", report)?;
        let name = fields.require("domain", "my_domain", report);
        let name = name.and_then(|name| text(name, report));
        let descriptors = fields.take("descriptors");
        let descriptors = descriptors
            .map(|node| list(node, report, remarks))
            .unwrap_or_default();
        fields.finish(report);
        Some(Self {
            name: name?,
            descriptors,
        })
    }
}

fn list(node: &Node, report: &mut Report<'_>, remarks: &mut Remarks) -> Vec<Descriptor> {
    items(node, "descriptors", report)
        .iter()
        .filter_map(|item| Descriptor::read(item, report, remarks))
        .collect()
}

/// The items of the list `node`. Nothing is an empty list.
fn items<'n>(node: &'n Node, name: &str, report: &mut Report<'_>) -> &'n [Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Nothing => &[],
        other => {
            let message = format!("`{name}` is a list, and this is {}", other.kind());
            report.error(node.at, message, "begin each item with `- `");
            &[]
        }
    }
}

impl Descriptor {
    fn read(node: &Node, report: &mut Report<'_>, remarks: &mut Remarks) -> Option<Self> {
        let mut fields = Fields::of(node, "a descriptor", report)?;
        let key = fields.require("key", "remote_address", report);
        let key = key.and_then(|key| text(key, report));
        let value = fields.read("value", report, maybe_text);
        let limit = fields.read("rate_limit", report, RateLimit::read);
        let shadow_mode = switch("shadow_mode", &mut fields, report);
        let share_threshold = switch("share_threshold", &mut fields, report);
        let quota_mode = switch("quota_mode", &mut fields, report);
        if let (true, Some(at)) = (quota_mode, fields.place("quota_mode")) {
            let remark = "quota_mode has no equal here and is left out: this limit refuses by itself, not only when all quotas are used up";
            remarks.add(at, remark);
        }
        for (name, why) in LEFT_OUT {
            let written = fields.take(name).is_some();
            if let (true, Some(at)) = (written, fields.place(name)) {
                remarks.add(at, format!("{name} has no equal here and is left out: {why}"));
            }
        }
        let descriptors = fields.take("descriptors");
        let descriptors = descriptors
            .map(|node| list(node, report, remarks))
            .unwrap_or_default();
        let share_at = fields.place("share_threshold");
        fields.finish(report);
        let key = key?;
        let has_pattern = value.as_ref().is_some_and(|value| value.contains('*'));
        if let (true, false, Some(at)) = (share_threshold, has_pattern, share_at) {
            remarks.add(
                at,
                "share_threshold says nothing where the value has no `*`, and is left out",
            );
        }
        if key.value.contains('*') {
            let cure = "write it into the value, as in `{ key: path, value: /api/* }`";
            report.error(key.at, "a `*` in a key cannot be said here", cure);
        }
        Some(Self {
            at: key.at,
            key: key.value,
            value,
            limit,
            shadow_mode,
            share_threshold: share_threshold && has_pattern,
            descriptors,
        })
    }

    /// The key and the value as ratelimit joins them.
    pub(super) fn joined(&self) -> String {
        match &self.value {
            None => self.key.clone(),
            Some(value) => format!("{}_{value}", self.key),
        }
    }
}

impl RateLimit {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if node.value == Value::Nothing {
            return None;
        }
        let mut fields = Fields::of(node, "a rate_limit", report)?;
        let written_unit = fields.take("unit").filter(|unit| !is_empty(unit));
        let unit = written_unit.and_then(|node| unit(node, report));
        let written_requests = fields.take("requests_per_unit");
        let requests = written_requests.and_then(|node| per_unit(node, report));
        let unlimited = switch("unlimited", &mut fields, report);
        let name = fields.read("name", report, |node, report| {
            let at = node.at;
            maybe_text(node, report).map(|value| Spanned { value, at })
        });
        let replaces = fields.take("replaces");
        let replaces = replaces.map(|node| names(node, report)).unwrap_or_default();
        fields.finish(report);
        refuse_itself(name.as_ref(), &replaces, report);
        let rule = match (unlimited, unit) {
            (true, Some(unit)) => {
                report.error(
                    unit.at,
                    "what is unlimited has no unit",
                    "remove `unit` or `unlimited`",
                );
                return None;
            }
            (true, None) => Rule::Unlimited,
            (false, Some(unit)) => {
                if written_requests.is_none() {
                    let message = "this rate_limit has no `requests_per_unit`, which is 0 to ratelimit: nothing would ever pass";
                    report.error(
                        node.at,
                        message,
                        "add `requests_per_unit: 100`, or 0 if you mean it",
                    );
                }
                Rule::Requests {
                    per_unit: requests?.value,
                    seconds: unit.value,
                }
            }
            (false, None) => {
                if written_unit.is_none() {
                    let cure = "add `unit: minute`, or `unlimited: true`";
                    report.error(node.at, "this rate_limit has no `unit`", cure);
                }
                return None;
            }
        };
        Some(Self {
            at: node.at,
            rule,
            name,
            replaces,
        })
    }
}

/// A text that may be empty, which says as much as none.
fn maybe_text(node: &Node, report: &mut Report<'_>) -> Option<String> {
    if is_empty(node) {
        return None;
    }
    text(node, report).map(|text| text.value)
}

/// A unit in seconds, in whatever case it is written.
fn unit(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u64>> {
    choice(&in_lower_case(node), &UNITS, report)
}

fn per_unit(node: &Node, report: &mut Report<'_>) -> Option<Spanned<u32>> {
    let number = integer(node, report)?;
    match u32::try_from(number.value) {
        Ok(value) => Some(Spanned { value, at: number.at }),
        Err(_) => {
            report.error(
                node.at,
                "this number is too large",
                format!("write at most {}", u32::MAX),
            );
            None
        }
    }
}

/// Whether the field `name` is on. The words are those of YAML 1.1.
fn switch(name: &'static str, fields: &mut Fields<'_>, report: &mut Report<'_>) -> bool {
    const WORDS: [(&str, bool); 6] = [
        ("true", true),
        ("false", false),
        ("yes", true),
        ("no", false),
        ("on", true),
        ("off", false),
    ];
    let node = fields.take(name).filter(|node| node.value != Value::Nothing);
    let word = node.and_then(|node| choice(&in_lower_case(node), &WORDS, report));
    word.is_some_and(|word| word.value)
}

fn in_lower_case(node: &Node) -> Node {
    let value = match &node.value {
        Value::Text(text) => Value::Text(text.to_ascii_lowercase()),
        other => other.clone(),
    };
    Node { value, at: node.at }
}

/// Whether `node` says nothing.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Nothing => true,
        Value::Text(text) => text.is_empty(),
        Value::List(_) | Value::Map(_) => false,
    }
}

/// The names in `replaces`.
fn names(node: &Node, report: &mut Report<'_>) -> Vec<Spanned<String>> {
    let mut each = Vec::new();
    for item in items(node, "replaces", report) {
        let Some(mut fields) = Fields::of(item, "an item of `replaces`", report) else {
            continue;
        };
        let name = fields.require("name", "other_limit", report);
        each.extend(name.and_then(|name| text(name, report)));
        fields.finish(report);
    }
    each
}

fn refuse_itself(name: Option<&Spanned<String>>, replaces: &[Spanned<String>], report: &mut Report<'_>) {
    let Some(name) = name else { return };
    for replaced in replaces.iter().filter(|replaced| replaced.value == name.value) {
        let message = format!("{} replaces itself", quoted(&name.value));
        report.error(replaced.at, message, "name another limit, or remove the item");
    }
}

/// Adds `domain` to those of other files.
pub(super) fn add(read: &mut Vec<Domain>, domain: Domain, domains: Domains, report: &mut Report<'_>) {
    let Some(earlier) = read
        .iter_mut()
        .find(|earlier| earlier.name.value == domain.name.value)
    else {
        read.push(domain);
        return;
    };
    if domains == Domains::Once {
        let line = report.line_in_words(earlier.name.at);
        let message = format!("the domain {} is in {line} too", quoted(&domain.name.value));
        let cure = "import them with `--merge-domains`, or give each file a domain of its own";
        report.error(domain.name.at, message, cure);
    }
    earlier.descriptors.extend(domain.descriptors);
}

/// Refuses descriptors that ratelimit cannot tell from their neighbours.
pub(super) fn refuse_twins(domains: &[Domain], report: &mut Report<'_>) {
    domains
        .iter()
        .for_each(|domain| refuse_twins_in(&domain.descriptors, report));
}

fn refuse_twins_in(descriptors: &[Descriptor], report: &mut Report<'_>) {
    let mut places: HashMap<String, Place> = HashMap::new();
    for descriptor in descriptors {
        let joined = descriptor.joined();
        if let Some(earlier) = places.get(&joined) {
            let line = report.line_in_words(*earlier);
            let message = format!("{} is in {line} too", quoted(&joined));
            report.error(
                descriptor.at,
                message,
                "keep one of them: ratelimit joins key and value by `_`",
            );
        } else {
            places.insert(joined, descriptor.at);
        }
        refuse_twins_in(&descriptor.descriptors, report);
    }
}
