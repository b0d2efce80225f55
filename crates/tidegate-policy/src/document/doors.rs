//! `doors`, as typed.

use super::fields::{Fields, one_or_many};
use super::gateway::texts;
use super::listener::TlsText;
use super::node::{Node, Spanned, Value};
use super::report::Report;
use super::scalar;
use crate::config::Door;

/// One door, as typed.
#[derive(Debug)]
pub(crate) struct DoorText {
    pub(crate) door: Door,
    /// An address, or a port alone.
    pub(crate) listen: Spanned<String>,
    pub(crate) tls: Option<TlsText>,
    pub(crate) callers: Option<Vec<Spanned<String>>>,
}

/// All doors, in the order of [`Door::NAMED`].
pub(crate) fn doors(node: &Node, report: &mut Report<'_>) -> Option<Vec<DoorText>> {
    let mut fields = Fields::of(node, "`doors`", report)?;
    let mut doors = Vec::new();
    for (name, door) in Door::NAMED {
        let Some(node) = fields.take(name) else {
            continue;
        };
        let items = one_or_many(node).iter();
        doors.extend(items.filter_map(|item| DoorText::read(door, item, report)));
    }
    fields.finish(report);
    Some(doors)
}

impl DoorText {
    fn read(door: Door, node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Map(_)) {
            return Some(Self {
                door,
                listen: scalar::text(node, report)?,
                tls: None,
                callers: None,
            });
        }
        let mut fields = Fields::of(node, "a door", report)?;
        let listen = fields
            .require("listen", "127.0.0.1:8081", report)
            .and_then(|node| scalar::text(node, report));
        let tls = fields.read("tls", report, TlsText::read);
        let callers = fields.read("callers", report, texts);
        fields.finish(report);
        Some(Self {
            door,
            listen: listen?,
            tls,
            callers,
        })
    }
}
