//! `gateway`, as typed.

use std::time::Duration;

use super::fields::{Fields, one_or_many};
use super::listener::{ListenerText, listeners};
use super::node::{Node, Place, Spanned};
use super::report::Report;
use super::scalar;
use crate::config::{ForwardedField, RequestIds};

/// `gateway`, as typed.
#[derive(Debug, Default)]
pub(crate) struct GatewayText {
    pub(crate) listen: Option<Vec<ListenerText>>,
    pub(crate) upstream: Option<Spanned<String>>,
    pub(crate) trusted_proxies: Option<Vec<Spanned<String>>>,
    pub(crate) trusted_hops: Option<Spanned<u64>>,
    pub(crate) forwarded_field: Option<Spanned<ForwardedField>>,
    /// Where `trusted_hops` stands if both ways to trust are written, rightly or not.
    pub(crate) trusted_twice_at: Option<Place>,
    pub(crate) timeouts: TimeoutsText,
    pub(crate) limits: BoundsText,
    pub(crate) workers: Option<Spanned<u64>>,
    pub(crate) request_ids: Option<Spanned<RequestIds>>,
}

impl GatewayText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`gateway`", report)?;
        let gateway = Self {
            listen: fields.read("listen", report, listeners),
            upstream: fields.read("upstream", report, scalar::text),
            trusted_proxies: fields.read("trusted_proxies", report, texts),
            trusted_hops: fields.read("trusted_hops", report, scalar::integer),
            forwarded_field: fields.read("forwarded_field", report, forwarded_field),
            trusted_twice_at: fields.place("trusted_proxies").and(fields.place("trusted_hops")),
            timeouts: fields
                .read("timeouts", report, TimeoutsText::read)
                .unwrap_or_default(),
            limits: fields
                .read("limits", report, BoundsText::read)
                .unwrap_or_default(),
            workers: fields.read("workers", report, scalar::integer),
            request_ids: fields.read("request_ids", report, |node, report| {
                scalar::choice(node, &[("on", RequestIds::On), ("off", RequestIds::Off)], report)
            }),
        };
        fields.finish(report);
        Some(gateway)
    }
}

fn forwarded_field(node: &Node, report: &mut Report<'_>) -> Option<Spanned<ForwardedField>> {
    let words = [
        ("x-forwarded-for", ForwardedField::XForwardedFor),
        ("forwarded", ForwardedField::Forwarded),
    ];
    scalar::choice(node, &words, report)
}

/// `gateway.timeouts`, as typed.
#[derive(Debug, Default)]
pub(crate) struct TimeoutsText {
    pub(crate) connect: Option<Spanned<Duration>>,
    pub(crate) request_header: Option<Spanned<Duration>>,
    pub(crate) upstream_response: Option<Spanned<Duration>>,
    pub(crate) idle: Option<Spanned<Duration>>,
    pub(crate) policy_body: Option<Spanned<Duration>>,
}

impl TimeoutsText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`timeouts`", report)?;
        let timeouts = Self {
            connect: fields.read("connect", report, scalar::duration),
            request_header: fields.read("request_header", report, scalar::duration),
            upstream_response: fields.read("upstream_response", report, scalar::duration),
            idle: fields.read("idle", report, scalar::duration),
            policy_body: fields.read("policy_body", report, scalar::duration),
        };
        fields.finish(report);
        Some(timeouts)
    }
}

/// `gateway.limits`, as typed.
#[derive(Debug, Default)]
pub(crate) struct BoundsText {
    pub(crate) max_header_bytes: Option<Spanned<u64>>,
    pub(crate) max_headers: Option<Spanned<u64>>,
    pub(crate) max_body_bytes: Option<Spanned<u64>>,
    pub(crate) max_body_memory: Option<Spanned<u64>>,
    pub(crate) max_connections: Option<Spanned<u64>>,
    pub(crate) max_connections_per_address: Option<Spanned<u64>>,
    pub(crate) max_requests_per_connection: Option<Spanned<u64>>,
    pub(crate) max_connection_age: Option<Spanned<Duration>>,
    pub(crate) min_body_rate: Option<Spanned<u64>>,
}

impl BoundsText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`limits`", report)?;
        let bounds = Self {
            max_header_bytes: fields.read("max_header_bytes", report, scalar::size),
            max_headers: fields.read("max_headers", report, scalar::integer),
            max_body_bytes: fields.read("max_body_bytes", report, scalar::size),
            max_body_memory: fields.read("max_body_memory", report, scalar::size),
            max_connections: fields.read("max_connections", report, scalar::integer),
            max_connections_per_address: fields.read("max_connections_per_address", report, scalar::integer),
            max_requests_per_connection: fields.read("max_requests_per_connection", report, scalar::integer),
            max_connection_age: fields.read("max_connection_age", report, scalar::duration),
            min_body_rate: fields.read("min_body_rate", report, scalar::size),
        };
        fields.finish(report);
        Some(bounds)
    }
}

/// One text, or a list of them.
pub(crate) fn texts(node: &Node, report: &mut Report<'_>) -> Option<Vec<Spanned<String>>> {
    let items = one_or_many(node);
    if items.is_empty() {
        report.error(
            node.at,
            "this list is empty",
            "write at least one, or remove the field if it is not needed",
        );
        return None;
    }
    Some(
        items
            .iter()
            .filter_map(|item| scalar::text(item, report))
            .collect(),
    )
}
