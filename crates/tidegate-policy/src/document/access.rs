//! `access` and `exempt`, as typed.

use ipnet::IpNet;
use tidegate_core::Timestamp;

use super::fields::{Fields, one_or_many};
use super::named::NamedText;
use super::node::{Node, Place, Spanned, Value};
use super::report::{Report, quoted};
use super::scalar;
use crate::access::network;

/// `access`, as typed.
#[derive(Debug, Default)]
pub(crate) struct AccessText {
    pub(crate) allow: Vec<EntryText>,
    pub(crate) deny: Vec<EntryText>,
}

/// One entry of a list, as typed.
#[derive(Debug)]
pub(crate) struct EntryText {
    pub(crate) at: Place,
    pub(crate) who: WhoText,
    pub(crate) until: Option<Spanned<Timestamp>>,
}

/// Whom an entry is about.
#[derive(Debug)]
pub(crate) enum WhoText {
    Network(IpNet),
    Subject(NamedText),
    /// Nobody in this version.
    Country,
    /// Everybody in that file.
    File(String),
}

/// What an entry looks like, for cures.
const ENTRIES: &str = "write an address, a network, `{ subject: … }` or `{ country: … }`";

impl AccessText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`access`", report)?;
        let access = Self {
            allow: fields.read("allow", report, entries).unwrap_or_default(),
            deny: fields.read("deny", report, entries).unwrap_or_default(),
        };
        fields.finish(report);
        Some(access)
    }
}

/// One entry, or a list of them.
pub(crate) fn entries(node: &Node, report: &mut Report<'_>) -> Option<Vec<EntryText>> {
    let items = one_or_many(node).iter();
    Some(items.filter_map(|item| EntryText::read(item, report)).collect())
}

impl EntryText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let (who, until) = match &node.value {
            Value::Map(_) => described(node, report)?,
            _ => (WhoText::Network(cidr(node, report)?), None),
        };
        Some(Self {
            at: node.at,
            who,
            until,
        })
    }
}

/// `{ subject: acme, until: 2027-01-01 }`.
fn described(node: &Node, report: &mut Report<'_>) -> Option<(WhoText, Option<Spanned<Timestamp>>)> {
    let mut fields = Fields::of(node, "an entry", report)?;
    let issuer = NamedText::issuer(&mut fields, report);
    let issuer_at = fields
        .place("issuer")
        .filter(|_| fields.place("subject").is_none());
    if let Some(at) = issuer_at {
        let message = "`issuer` says whose `subject` is meant, and there is none";
        report.error(at, message, "write `{ subject: …, issuer: … }`");
    }
    let who = [
        fields
            .take("cidr")
            .map(|node| cidr(node, report).map(WhoText::Network)),
        fields
            .take("subject")
            .map(|node| NamedText::read(node, issuer, report).map(WhoText::Subject)),
        fields
            .take("country")
            .map(|node| country(node, report).map(|()| WhoText::Country)),
        fields.take("file").map(|node| {
            let file = scalar::text(node, report);
            file.map(|file| WhoText::File(file.value))
        }),
    ];
    let until = fields.read("until", report, scalar::moment);
    fields.read("reason", report, scalar::text);
    fields.finish(report);
    let mut who = who.into_iter().flatten();
    match (who.next(), who.next()) {
        (Some(who), None) => Some((who?, until)),
        _ => {
            let message = "an entry has one of `cidr`, `subject`, `country` and `file`";
            report.error(node.at, message, ENTRIES);
            None
        }
    }
}

fn cidr(node: &Node, report: &mut Report<'_>) -> Option<IpNet> {
    let text = scalar::text(node, report)?;
    let found = network(&text.value);
    if found.is_none() {
        let message = format!("{} is neither an address nor a network", quoted(&text.value));
        report.error(node.at, message, ENTRIES);
    }
    if text
        .value
        .parse()
        .is_ok_and(|written: IpNet| Some(written) != found)
    {
        let message = format!("{} has more bits than its prefix says", quoted(&text.value));
        let cure = found.map(|network| format!("write `{network}`, which is what it means"));
        report.warning(node.at, message, cure.unwrap_or_default());
    }
    found
}

/// Two capitals (ISO 3166-1).
fn country(node: &Node, report: &mut Report<'_>) -> Option<()> {
    let text = scalar::text(node, report)?;
    let right = text.value.len() == 2 && text.value.bytes().all(|byte| byte.is_ascii_uppercase());
    if !right {
        let message = format!("{} is not a country", quoted(&text.value));
        report.error(node.at, message, "write two capitals, such as `DE`");
    }
    right.then_some(())
}
