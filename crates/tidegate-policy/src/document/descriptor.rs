//! Which calls of the rate limit service a policy speaks about, as typed.

use super::fields::{Fields, one_or_many};
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;

/// `domain` and `descriptor` of `match`, as typed.
#[derive(Debug)]
pub(crate) struct CallText {
    /// Where the first of them stands.
    pub(crate) at: Place,
    /// None if it is missing or wrong; what is wrong has been reported.
    pub(crate) domain: Option<Spanned<String>>,
    /// Whether `domain` is written, be it right or wrong.
    pub(crate) has_domain: bool,
    /// None if the policy is about the whole call.
    pub(crate) descriptor: Option<DescriptorText>,
}

/// `descriptor`, as typed.
#[derive(Debug)]
pub(crate) struct DescriptorText {
    pub(crate) levels: Vec<LevelText>,
    /// Whether all of it could be read.
    pub(crate) is_right: bool,
}

/// One entry that a descriptor has to have, as typed.
#[derive(Debug)]
pub(crate) struct LevelText {
    pub(crate) key: Spanned<String>,
    /// None: any value.
    pub(crate) value: Option<Spanned<String>>,
}

const LEVELS: &str = "write the entry's key, or `{ key: value }`";

impl CallText {
    /// What `fields` say of calls. None if they are about requests.
    pub(super) fn read(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Self> {
        let domain = fields.read("domain", report, scalar::text);
        let descriptor = fields.read("descriptor", report, |node, report| {
            Some(DescriptorText::read(node, report))
        });
        let domain_at = fields.place("domain");
        Some(Self {
            at: domain_at.or(fields.place("descriptor"))?,
            domain,
            has_domain: domain_at.is_some(),
            descriptor,
        })
    }
}

impl DescriptorText {
    fn read(node: &Node, report: &mut Report<'_>) -> Self {
        let earlier_errors = report.errors();
        let items = one_or_many(node);
        if items.is_empty() {
            let cure = "write the keys of its entries, such as `[remote_address]`, or remove the field";
            report.error(node.at, "a descriptor has at least one entry", cure);
        }
        let levels = items.iter().filter_map(|item| LevelText::read(item, report));
        Self {
            levels: levels.collect(),
            is_right: report.errors() == earlier_errors,
        }
    }
}

impl LevelText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        match &node.value {
            Value::Text(key) => Some(Self {
                key: Spanned {
                    value: key.clone(),
                    at: node.at,
                },
                value: None,
            }),
            Value::Map(entries) => {
                let [(key, value)] = &entries[..] else {
                    let message = "an entry has one key with one value";
                    report.error(node.at, message, "write each entry as an item of its own");
                    return None;
                };
                Some(Self {
                    key: key.clone(),
                    value: Some(scalar::text(value, report)?),
                })
            }
            other => {
                let message = format!("an entry is a key or a mapping, and this is {}", other.kind());
                report.error(node.at, message, LEVELS);
                None
            }
        }
    }
}
