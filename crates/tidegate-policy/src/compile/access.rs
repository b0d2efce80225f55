//! What `access` and `exempt` mean.

use super::named::{named, warn_of_namesakes};
use crate::access::{Access, AccessList, Entries, FOREVER};
use crate::document::access::{AccessText, EntryText, WhoText};
use crate::document::identity::IdentityText;
use crate::document::named::NamedText;
use crate::document::node::Place;
use crate::document::report::Report;

/// The most files of one list.
const MAX_FILES: usize = 16;

pub(super) fn access(text: &AccessText, identity: &IdentityText, report: &mut Report<'_>) -> Access {
    let access = Access {
        allow: list(&text.allow, identity, report),
        deny: list(&text.deny, identity, report),
    };
    warn_of_namesakes(subjects(&text.allow), identity, report);
    for entry in &text.allow {
        let WhoText::Network(network) = &entry.who else {
            continue;
        };
        if access.deny.own.hold_network(*network) {
            let message = "nobody in this network is allowed: `deny` names it too and comes first";
            report.warning(entry.at, message, "remove it from one of the lists");
        } else if network.prefix_len() == 0 {
            let message = "everybody is allowed, so no policy counts anybody";
            report.warning(entry.at, message, "name the networks that no policy should count");
        }
    }
    access
}

/// The entries that a policy does not count.
pub(super) fn exempt(
    texts: &[EntryText],
    identity: &IdentityText,
    report: &mut Report<'_>,
) -> Option<AccessList> {
    for entry in texts {
        if let WhoText::File(_) = entry.who {
            let message = "files of addresses are for `access`";
            report.error(
                entry.at,
                message,
                "name it under `access: { allow: … }`, or write its entries here",
            );
        }
    }
    warn_of_namesakes(subjects(texts), identity, report);
    (!texts.is_empty()).then(|| list(texts, identity, report))
}

fn subjects(texts: &[EntryText]) -> impl Iterator<Item = &NamedText> {
    texts.iter().filter_map(|entry| match &entry.who {
        WhoText::Subject(text) => Some(text),
        WhoText::Network(_) | WhoText::Country | WhoText::File(_) => None,
    })
}

fn list(texts: &[EntryText], identity: &IdentityText, report: &mut Report<'_>) -> AccessList {
    let (mut networks, mut subjects, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for entry in texts {
        let until = entry.until.as_ref().map_or(FOREVER, |until| until.value);
        match &entry.who {
            WhoText::Network(network) => networks.push((*network, until)),
            WhoText::Subject(text) => subjects.push((named(text, identity, report), until)),
            WhoText::File(file) => files.push((file.clone(), Entries::default())),
            WhoText::Country => {
                let message = "where clients are is not known in this version: this entry is about nobody";
                report.warning(entry.at, message, "name networks until it is");
            }
        }
        judge(entry, identity, report);
    }
    if files.len() > MAX_FILES {
        let message = format!("a list has at most {MAX_FILES} files");
        let at = texts.last().map_or(Place::START, |last| last.at);
        report.error(at, message, "join some");
    }
    AccessList {
        own: Entries::new(&networks, subjects),
        files,
    }
}

/// What is doubtful about one entry.
fn judge(entry: &EntryText, identity: &IdentityText, report: &mut Report<'_>) {
    if matches!(entry.who, WhoText::Subject(_)) && !identity.proves {
        let message = "nobody is a subject here: subjects come with API keys and tokens";
        let cure = "add `identity: { api_key: … }` or `identity: { jwt: … }`, or name an address";
        report.warning(entry.at, message, cure);
    }
    let Some(until) = &entry.until else {
        return;
    };
    if let WhoText::File(_) = entry.who {
        report.error(
            until.at,
            "a file has no end",
            "remove `until`, or write its entries here",
        );
    }
    report.ends(
        until.at,
        until.value,
        "this entry has ended",
        "remove it, or write a later moment",
    );
}
