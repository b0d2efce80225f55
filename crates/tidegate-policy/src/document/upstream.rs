//! `upstreams` and `routes`, as typed.

use std::time::Duration;

use super::fields::{Fields, one_or_many};
use super::matching::MatchText;
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;

/// The most upstreams of a file.
pub(crate) const MAX_UPSTREAMS: usize = 1000;

/// The most servers of an upstream.
pub(crate) const MAX_SERVERS: usize = 64;

/// The most routes of a file.
pub(crate) const MAX_ROUTES: usize = 1000;

/// One of `upstreams`, as typed.
#[derive(Debug)]
pub(crate) struct UpstreamText {
    pub(crate) name: Spanned<String>,
    /// Whether all of it could be read.
    pub(crate) is_right: bool,
    /// Empty if they are missing or wrong, which has been reported.
    pub(crate) servers: Vec<ServerText>,
    pub(crate) tls: Option<TlsText>,
    pub(crate) health: Option<HealthText>,
    pub(crate) ejection: Option<EjectionText>,
    pub(crate) retries: Option<Spanned<u64>>,
}

/// One of `servers`, as typed.
#[derive(Debug)]
pub(crate) struct ServerText {
    pub(crate) url: Spanned<String>,
    pub(crate) weight: Option<Spanned<u64>>,
}

/// `tls` of an upstream, as typed.
#[derive(Debug)]
pub(crate) struct TlsText {
    pub(crate) at: Place,
    pub(crate) ca: Option<Spanned<String>>,
    pub(crate) server_name: Option<Spanned<String>>,
    pub(crate) certificate: Option<Spanned<String>>,
    pub(crate) key: Option<Spanned<String>>,
    pub(crate) insecure_skip_verify: Option<Spanned<bool>>,
}

/// `health`, as typed.
#[derive(Debug)]
pub(crate) struct HealthText {
    /// None if it is missing or wrong, which has been reported.
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) host: Option<Spanned<String>>,
    pub(crate) every: Option<Spanned<Duration>>,
    pub(crate) timeout: Option<Spanned<Duration>>,
    pub(crate) healthy_after: Option<Spanned<u64>>,
    pub(crate) unhealthy_after: Option<Spanned<u64>>,
    pub(crate) expect: Option<Vec<Spanned<u64>>>,
}

/// `ejection`, as typed.
#[derive(Debug)]
pub(crate) enum EjectionText {
    Off,
    After {
        failures: Option<Spanned<u64>>,
        pause: Option<Spanned<Duration>>,
    },
}

/// One of `routes`, as typed.
#[derive(Debug)]
pub(crate) struct RouteText {
    pub(crate) at: Place,
    /// Whether all of it could be read.
    pub(crate) is_right: bool,
    pub(crate) matching: MatchText,
    /// None if it is missing or wrong, which has been reported.
    pub(crate) upstream: Option<Spanned<String>>,
    pub(crate) host: Option<Spanned<String>>,
}

/// `upstreams`, as typed.
pub(crate) fn upstreams(node: &Node, report: &mut Report<'_>) -> Option<Vec<UpstreamText>> {
    let Value::Map(entries) = &node.value else {
        let message = format!("`upstreams` is a mapping, and this is {}", node.value.kind());
        report.error(
            node.at,
            message,
            "write `name: { servers: [http://127.0.0.1:3000] }` for each",
        );
        return None;
    };
    if let Some((name, _)) = entries.get(MAX_UPSTREAMS) {
        report.error(
            name.at,
            format!("a file has at most {MAX_UPSTREAMS} upstreams"),
            "remove some",
        );
    }
    let upstreams = entries.iter().take(MAX_UPSTREAMS);
    Some(
        upstreams
            .map(|(name, node)| UpstreamText::read(name, node, report))
            .collect(),
    )
}

impl UpstreamText {
    fn read(name: &Spanned<String>, node: &Node, report: &mut Report<'_>) -> Self {
        let earlier_errors = report.errors();
        let mut upstream = Self {
            name: name.clone(),
            is_right: false,
            servers: Vec::new(),
            tls: None,
            health: None,
            ejection: None,
            retries: None,
        };
        let Some(mut fields) = Fields::of(node, "an upstream", report) else {
            return upstream;
        };
        if let Some(node) = fields.require("servers", "[http://127.0.0.1:3000]", report) {
            upstream.servers = servers(node, report);
        }
        upstream.tls = fields.read("tls", report, TlsText::read);
        upstream.health = fields.read("health", report, HealthText::read);
        upstream.ejection = fields.read("ejection", report, EjectionText::read);
        upstream.retries = fields.read("retries", report, scalar::integer);
        fields.finish(report);
        upstream.is_right = report.errors() == earlier_errors;
        upstream
    }
}

fn servers(node: &Node, report: &mut Report<'_>) -> Vec<ServerText> {
    let items = one_or_many(node);
    if items.is_empty() {
        report.error(
            node.at,
            "this list is empty",
            "write at least one server: `[http://127.0.0.1:3000]`",
        );
    }
    if items.len() > MAX_SERVERS {
        let message = format!(
            "an upstream has at most {MAX_SERVERS} servers, and this one has {}",
            items.len()
        );
        report.error(node.at, message, "name several by one host name, or remove some");
    }
    items
        .iter()
        .take(MAX_SERVERS)
        .filter_map(|item| ServerText::read(item, report))
        .collect()
}

impl ServerText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Map(_)) {
            let url = scalar::text(node, report)?;
            return Some(Self { url, weight: None });
        }
        let mut fields = Fields::of(node, "a server", report)?;
        let url = fields.require("url", "http://127.0.0.1:3000", report);
        let url = url.and_then(|url| scalar::text(url, report));
        let weight = fields.read("weight", report, scalar::integer);
        fields.finish(report);
        url.map(|url| Self { url, weight })
    }
}

impl TlsText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`tls` of an upstream", report)?;
        let tls = Self {
            at: node.at,
            ca: fields.read("ca", report, scalar::text),
            server_name: fields.read("server_name", report, scalar::text),
            certificate: fields.read("certificate", report, scalar::text),
            key: fields.read("key", report, scalar::text),
            insecure_skip_verify: fields.read("insecure_skip_verify", report, scalar::boolean),
        };
        for name in ["verify", "skip_verify", "insecure"] {
            if let Some(at) = fields.refuse(name) {
                let message =
                    format!("`{name}` does not say how much is lost with the check of certificates");
                report.error(
                    at,
                    message,
                    "remove it, and name the roots with `ca`; for a test only, write `insecure_skip_verify: true`",
                );
            }
        }
        fields.finish(report);
        Some(tls)
    }
}

impl HealthText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`health`", report)?;
        let path = fields.require("path", "/health", report);
        let health = Self {
            path: path.and_then(|path| scalar::text(path, report)),
            host: fields.read("host", report, scalar::text),
            every: fields.read("every", report, scalar::duration),
            timeout: fields.read("timeout", report, scalar::duration),
            healthy_after: fields.read("healthy_after", report, scalar::integer),
            unhealthy_after: fields.read("unhealthy_after", report, scalar::integer),
            expect: fields.read("expect", report, integers),
        };
        fields.finish(report);
        Some(health)
    }
}

fn integers(node: &Node, report: &mut Report<'_>) -> Option<Vec<Spanned<u64>>> {
    let items = one_or_many(node);
    if items.is_empty() {
        report.error(
            node.at,
            "this list is empty",
            "write at least one, or remove the field",
        );
        return None;
    }
    Some(
        items
            .iter()
            .filter_map(|item| scalar::integer(item, report))
            .collect(),
    )
}

impl EjectionText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(_) = &node.value {
            return scalar::choice(node, &[("off", ())], report).map(|_| Self::Off);
        }
        let mut fields = Fields::of(node, "`ejection`", report)?;
        let ejection = Self::After {
            failures: fields.read("failures", report, scalar::integer),
            pause: fields.read("for", report, scalar::duration),
        };
        fields.finish(report);
        Some(ejection)
    }
}

/// `routes`, as typed.
pub(crate) fn routes(node: &Node, report: &mut Report<'_>) -> Option<Vec<RouteText>> {
    let Value::List(items) = &node.value else {
        let message = format!("`routes` is a list, and this is {}", node.value.kind());
        report.error(
            node.at,
            message,
            "write each as `- { match: { path: /api/** }, upstream: app }`",
        );
        return None;
    };
    if items.len() > MAX_ROUTES {
        let message = format!(
            "a file has at most {MAX_ROUTES} routes, and this one has {}",
            items.len()
        );
        report.error(
            node.at,
            message,
            "let one route match several paths: `path: [/a/**, /b/**]`",
        );
    }
    Some(
        items
            .iter()
            .take(MAX_ROUTES)
            .filter_map(|item| RouteText::read(item, report))
            .collect(),
    )
}

impl RouteText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let earlier_errors = report.errors();
        let mut fields = Fields::of(node, "a route", report)?;
        let matching = fields.require("match", "{ path: /api/** }", report);
        let upstream = fields.require("upstream", "app", report);
        let mut route = Self {
            at: node.at,
            is_right: false,
            matching: matching.map_or_else(MatchText::default, |node| MatchText::read(node, report)),
            upstream: upstream.and_then(|upstream| scalar::text(upstream, report)),
            host: fields.read("host", report, scalar::text),
        };
        fields.finish(report);
        route.is_right = report.errors() == earlier_errors;
        Some(route)
    }
}
