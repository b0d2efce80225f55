//! What was typed: the shape of a policy file, every value with its place, judged by nothing but itself.

pub(crate) mod access;
pub(crate) mod answers;
pub(crate) mod body;
pub(crate) mod descriptor;
pub(crate) mod doors;
pub(crate) mod fields;
pub(crate) mod folder;
pub(crate) mod gateway;
pub(crate) mod identity;
pub(crate) mod limit;
pub(crate) mod listener;
pub(crate) mod matching;
pub(crate) mod named;
pub(crate) mod node;
pub(crate) mod operations;
pub(crate) mod overrides;
pub(crate) mod policy;
pub(crate) mod reject;
pub(crate) mod report;
pub(crate) mod scalar;
pub(crate) mod schedule;
#[cfg(test)]
mod schema;
pub(crate) mod store;
pub(crate) mod upstream;
mod within;

use access::AccessText;
use answers::AnswersText;
use doors::DoorText;
use fields::Fields;
use gateway::GatewayText;
use identity::IdentityText;
use node::{Node, Value};
use operations::{AccessLogText, AdminText};
use policy::PolicyText;
use report::Report;
use store::StoreText;
use upstream::{RouteText, UpstreamText};

/// The most policies in a file.
pub(crate) const MAX_POLICIES: usize = 10_000;

/// A policy file as it was typed.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) gateway: GatewayText,
    pub(crate) doors: Vec<DoorText>,
    pub(crate) upstreams: Vec<UpstreamText>,
    pub(crate) routes: Vec<RouteText>,
    pub(crate) store: Option<StoreText>,
    pub(crate) identity: IdentityText,
    pub(crate) access: AccessText,
    pub(crate) answers: AnswersText,
    pub(crate) admin: Option<AdminText>,
    pub(crate) access_log: Option<AccessLogText>,
    pub(crate) policies: Vec<PolicyText>,
}

impl Document {
    /// The document `root` describes. What is wrong with its shape goes to `report`, and the rest is read on.
    pub(crate) fn read(root: &Node, report: &mut Report<'_>) -> Self {
        let Some(mut fields) = Fields::of(root, "a policy file", report) else {
            return Self::default();
        };
        let document = Self {
            gateway: fields
                .read("gateway", report, GatewayText::read)
                .unwrap_or_default(),
            doors: fields.read("doors", report, doors::doors).unwrap_or_default(),
            upstreams: fields
                .read("upstreams", report, upstream::upstreams)
                .unwrap_or_default(),
            routes: fields
                .read("routes", report, upstream::routes)
                .unwrap_or_default(),
            store: fields.read("store", report, StoreText::read),
            identity: fields
                .read("identity", report, IdentityText::read)
                .unwrap_or_default(),
            access: fields
                .read("access", report, AccessText::read)
                .unwrap_or_default(),
            answers: fields
                .read("answers", report, AnswersText::read)
                .unwrap_or_default(),
            admin: fields.read("admin", report, AdminText::read),
            access_log: fields.read("access_log", report, AccessLogText::read),
            policies: fields.read("policies", report, policies).unwrap_or_default(),
        };
        fields.finish(report);
        document
    }
}

fn policies(node: &Node, report: &mut Report<'_>) -> Option<Vec<PolicyText>> {
    let Value::List(items) = &node.value else {
        let message = format!("`policies` is a list, and this is {}", node.value.kind());
        report.error(
            node.at,
            message,
            "write each policy as `- name: …`, or `policies: []` for none",
        );
        return None;
    };
    if items.len() > MAX_POLICIES {
        let message = format!(
            "a file has at most {MAX_POLICIES} policies, and this one has {}",
            items.len()
        );
        report.error(node.at, message, "let one policy count many clients by its `key`");
    }
    Some(
        items
            .iter()
            .take(MAX_POLICIES)
            .filter_map(|item| PolicyText::read(item, report))
            .collect(),
    )
}
