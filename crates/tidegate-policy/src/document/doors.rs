//! `doors`, as typed.

use super::fields::{Fields, one_or_many};
use super::gateway::texts;
use super::listener::TlsText;
use super::node::{Node, Spanned, Value};
use super::policy::{consistency, on_store_failure};
use super::report::Report;
use super::scalar;
use super::store::SecretText;
use crate::config::Door;
use crate::policy::{Consistency, OnStoreFailure};

/// One door, as typed.
#[derive(Debug)]
pub(crate) struct DoorText {
    pub(crate) door: Door,
    /// An address, or a port alone.
    pub(crate) listen: Spanned<String>,
    pub(crate) tls: Option<TlsText>,
    pub(crate) callers: Option<Vec<Spanned<String>>>,
    /// Of a door for Redis that says more than where it is.
    pub(crate) redis: Option<RedisText>,
}

/// What only a door for Redis has, as typed.
#[derive(Debug)]
pub(crate) struct RedisText {
    pub(crate) consistency: Option<Spanned<Consistency>>,
    pub(crate) on_store_failure: Option<Spanned<OnStoreFailure>>,
    pub(crate) password: SecretText,
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
                redis: None,
            });
        }
        let is_redis = door == Door::Redis;
        let mut fields = if is_redis {
            Fields::of(node, "a door for Redis", report)?
        } else {
            Fields::of(node, "a door", report)?
        };
        let listen = fields
            .require("listen", "127.0.0.1:8081", report)
            .and_then(|node| scalar::text(node, report));
        let tls = fields.read("tls", report, TlsText::read);
        let callers = fields.read("callers", report, texts);
        let redis = is_redis.then(|| RedisText::read(&mut fields, report));
        fields.finish(report);
        Some(Self {
            door,
            listen: listen?,
            tls,
            callers,
            redis,
        })
    }
}

impl RedisText {
    fn read(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Self {
        if let Some(at) = fields.refuse("password") {
            let message = "a secret does not belong into a policy file";
            let cure = "change it, and name where it is: `password_env: DOOR_PASSWORD` or `password_file: door.password`";
            report.secret_error(at, message, cure);
        }
        Self {
            consistency: fields.read("consistency", report, consistency),
            on_store_failure: fields.read("on_store_failure", report, on_store_failure),
            password: SecretText::read(fields, ["password_env", "password_file"], report),
        }
    }
}
