//! What `gateway` means.

use std::fmt::Display;
use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroUsize};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::{doors, listener};
use crate::config::{Bounds, ForwardedField, Gateway, Listener, Timeouts, Trust};
use crate::document::Document;
use crate::document::gateway::{BoundsText, GatewayText, TimeoutsText};
use crate::document::node::Spanned;
use crate::document::report::{Report, quoted};

/// The longest timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How many worker threads there may be.
const WORKERS: RangeInclusive<u64> = 1..=1024;

/// How many proxies may stand in front.
const HOPS: RangeInclusive<u64> = 1..=32;

/// How long the head of a request may be: from 8 KiB, which hyper needs to read at all, to 16 MiB.
const HEADER_BYTES: RangeInclusive<u64> = 1 << 13..=1 << 24;

/// How much memory bodies may take that policies look at: from 64 KiB to 1 TiB.
const BODY_MEMORY: RangeInclusive<u64> = 1 << 16..=1 << 40;

/// How many header fields a request may have.
const HEADERS: RangeInclusive<u64> = 1..=10_000;

/// How many connections there may be at one time.
const CONNECTIONS: RangeInclusive<u64> = 1..=10_000_000;

/// How many requests a connection may get.
const REQUESTS: RangeInclusive<u64> = 1..=1_000_000_000;

/// How many bytes of a body may have to come per second: none to 1 GiB.
const BODY_RATE: RangeInclusive<u64> = 0..=1 << 30;

pub(super) fn gateway(document: &Document, report: &mut Report<'_>) -> Gateway {
    let default = Gateway::default();
    let text = &document.gateway;
    judge_proxy_protocol(text, report);
    Gateway {
        listen: listen(document, default.listen, report),
        trust: trust(text, report),
        forwarded_field: forwarded_field(text, report),
        timeouts: timeouts(&text.timeouts, report),
        bounds: bounds(&text.limits, report),
        workers: text
            .workers
            .as_ref()
            .and_then(|workers| within(workers, WORKERS, report))
            .and_then(NonZeroUsize::new),
        request_ids: text
            .request_ids
            .as_ref()
            .map_or(default.request_ids, |ids| ids.value),
    }
}

/// The gateway's own listeners, and the doors beside it. Who wants doors alone speaks of nothing that would be forwarded.
fn listen(document: &Document, usual: Vec<Listener>, report: &mut Report<'_>) -> Vec<Listener> {
    let text = &document.gateway;
    let forwards = text.upstream.is_some() || !document.upstreams.is_empty() || !document.routes.is_empty();
    let mut listen = match &text.listen {
        Some(texts) => listener::listeners(texts, report),
        None if forwards || document.doors.is_empty() => usual,
        None => Vec::new(),
    };
    let doors = doors::doors(document, &listen, report);
    listen.extend(doors);
    listen
}

fn trust(text: &GatewayText, report: &mut Report<'_>) -> Trust {
    if let Some(at) = text.trusted_twice_at {
        let message = "`trusted_proxies` and `trusted_hops` are two ways to say one thing";
        let cure = "keep `trusted_proxies` where the addresses of your proxies are known";
        report.error(at, message, cure);
    }
    let hops = text.trusted_hops.as_ref();
    let hops = hops.and_then(|hops| within(hops, HOPS, report));
    let networks = text.trusted_proxies.as_ref().map(|texts| {
        let networks = texts.iter().filter_map(|text| network(text, report));
        networks.collect()
    });
    match (hops.and_then(NonZeroU8::new), networks) {
        (Some(hops), _) => Trust::Hops(hops),
        (None, Some(networks)) => Trust::Proxies(networks),
        (None, None) => Trust::Nobody,
    }
}

/// Who says in front of a connection who opened it has to be known: anybody else could claim to be anybody.
fn judge_proxy_protocol(text: &GatewayText, report: &mut Report<'_>) {
    let said = text
        .listen
        .iter()
        .flatten()
        .filter_map(|listener| listener.proxy_protocol.as_ref());
    for said in said {
        if text.trusted_proxies.is_none() {
            let message = "nobody is trusted to say who opened a connection";
            report.error(said.at, message, "name your proxies in `trusted_proxies`");
        }
    }
}

fn forwarded_field(text: &GatewayText, report: &mut Report<'_>) -> ForwardedField {
    let Some(field) = &text.forwarded_field else {
        return ForwardedField::default();
    };
    if text.trusted_proxies.is_none() && text.trusted_hops.is_none() {
        let message = "nobody is trusted, so this field of a request is not looked at";
        let cure = "name your proxies in `trusted_proxies`, or remove it";
        report.warning(field.at, message, cure);
    }
    field.value
}

pub(super) fn network(text: &Spanned<String>, report: &mut Report<'_>) -> Option<IpNet> {
    let single = text.value.parse::<IpAddr>().map(IpNet::from).ok();
    let network = match single {
        Some(network) => network,
        None => {
            let cure = |_| "write an address or a network: `10.0.0.7`, `10.0.0.0/8` or `fd00::/8`".to_owned();
            parsed(text, "a network", cure, report)?
        }
    };
    if network.prefix_len() == 0 {
        let message = "this trusts everybody: any client may then claim to be any other";
        report.warning(text.at, message, "write the networks of your own proxies only");
    } else if network.trunc() != network {
        let message = format!("{} has bits after its prefix", quoted(&text.value));
        report.warning(text.at, message, format!("write `{}`", network.trunc()));
    }
    Some(network.trunc())
}

fn timeouts(text: &TimeoutsText, report: &mut Report<'_>) -> Timeouts {
    let default = Timeouts::default();
    let mut timeout = |text: &Option<Spanned<Duration>>, default| {
        let Some(text) = text else {
            return default;
        };
        wait(text, report)
    };
    Timeouts {
        connect: timeout(&text.connect, default.connect),
        request_header: timeout(&text.request_header, default.request_header),
        upstream_response: timeout(&text.upstream_response, default.upstream_response),
        idle: timeout(&text.idle, default.idle),
        policy_body: timeout(&text.policy_body, default.policy_body),
    }
}

fn wait(text: &Spanned<Duration>, report: &mut Report<'_>) -> Duration {
    if text.value.is_zero() || text.value > MAX_TIMEOUT {
        let message = "a timeout is longer than 0 and at most 1 d";
        report.error(text.at, message, "write such as `30s`");
    }
    text.value
}

fn bounds(text: &BoundsText, report: &mut Report<'_>) -> Bounds {
    let default = Bounds::default();
    let age = text.max_connection_age.as_ref();
    let max_connection_age = age.map(|age| wait(age, report));
    let requests = text.max_requests_per_connection.as_ref();
    let max_requests_per_connection = requests.and_then(|requests| within(requests, REQUESTS, report));
    let rate = text.min_body_rate.as_ref();
    let min_body_rate = rate.and_then(|rate| within(rate, BODY_RATE, report));
    let mut bound = |text: &Option<Spanned<u64>>, range, default| {
        let text = text.as_ref();
        text.and_then(|text| within(text, range, report))
            .unwrap_or(default)
    };
    Bounds {
        max_header_bytes: bound(&text.max_header_bytes, HEADER_BYTES, default.max_header_bytes),
        max_headers: bound(&text.max_headers, HEADERS, default.max_headers),
        max_body_bytes: text.max_body_bytes.as_ref().map(|bytes| bytes.value),
        max_body_memory: bound(&text.max_body_memory, BODY_MEMORY, default.max_body_memory),
        max_connections: bound(&text.max_connections, CONNECTIONS, default.max_connections),
        max_connections_per_address: bound(
            &text.max_connections_per_address,
            CONNECTIONS,
            default.max_connections_per_address,
        ),
        max_requests_per_connection,
        max_connection_age,
        min_body_rate: min_body_rate.unwrap_or(default.min_body_rate),
    }
}

/// The number `text`, if it lies in `range`.
pub(super) fn within<N: TryFrom<u64>>(
    text: &Spanned<u64>,
    range: RangeInclusive<u64>,
    report: &mut Report<'_>,
) -> Option<N> {
    let number = range.contains(&text.value).then_some(text.value);
    let number = number.and_then(|number| N::try_from(number).ok());
    if number.is_none() {
        let message = format!("{} is out of range", text.value);
        report.error(
            text.at,
            message,
            format!("write a number from {} to {}", range.start(), range.end()),
        );
    }
    number
}

/// What `text` means as a `T`, which messages call `what`.
pub(super) fn parsed<T>(
    text: &Spanned<String>,
    what: &str,
    cure: impl FnOnce(T::Err) -> String,
    report: &mut Report<'_>,
) -> Option<T>
where
    T: FromStr,
    T::Err: Display,
{
    match text.value.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            report.error(
                text.at,
                format!("{} is not {what}", quoted(&text.value)),
                cure(error),
            );
            None
        }
    }
}
