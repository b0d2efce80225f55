//! What a line of the access log says.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, Version};
use tidegate_core::{Key, Timestamp};
use tidegate_policy::{Course, Identity, Plan, Reason, Refusal, Shadow, StoreFailure, TlsVersion, Verdict};

use super::object::Object;
use crate::pipeline::host;

/// What a line says. Never a credential: no header field but `Host`, no query, of keys only a hash.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) started: Timestamp,
    pub(crate) client: IpAddr,
    pub(crate) tls: Option<TlsVersion>,
    pub(crate) status: u16,
    pub(crate) verdict: &'static str,
    pub(crate) error: Option<&'static str>,
    pub(crate) upstream_error: Option<&'static str>,
    /// From the client and to it.
    pub(crate) bytes: (u64, u64),
    pub(crate) duration: Duration,
    pub(crate) decision: Option<Duration>,
    pub(crate) upstream: Option<Duration>,
    pub(crate) ended: &'static str,
    /// None if the head could not be read.
    request: Option<Asked>,
    request_id: Option<HeaderValue>,
    trace_id: Option<Box<str>>,
    subject: Option<Arc<str>>,
    tier: Option<Arc<str>>,
    policy: Option<Arc<str>>,
    key: Option<Key>,
    remaining: Option<u64>,
    retry_after: Option<Duration>,
    shadow: Option<Arc<str>>,
    store_failure: Option<&'static str>,
}

/// What was asked for.
#[derive(Clone)]
struct Asked {
    method: Method,
    host: Box<str>,
    path: Box<str>,
    version: Version,
}

/// Room for a usual line.
const USUAL_BYTES: usize = 512;

impl Line {
    /// A line about a request of `peer` that could not be read.
    pub(crate) fn of(peer: IpAddr) -> Self {
        Self {
            started: Timestamp::from_nanos(0),
            client: peer,
            tls: None,
            status: 0,
            verdict: "none",
            error: None,
            upstream_error: None,
            bytes: (0, 0),
            duration: Duration::ZERO,
            decision: None,
            upstream: None,
            ended: "cut",
            request: None,
            request_id: None,
            trace_id: None,
            subject: None,
            tier: None,
            policy: None,
            key: None,
            remaining: None,
            retry_after: None,
            shadow: None,
            store_failure: None,
        }
    }

    /// A line about `request`, which came from `peer` and is called `id`.
    pub(crate) fn about<B>(request: &Request<B>, peer: IpAddr, id: Option<&HeaderValue>) -> Self {
        Self {
            request: Some(Asked {
                method: request.method().clone(),
                host: host(request.headers()).into(),
                path: request.uri().path().into(),
                version: request.version(),
            }),
            request_id: id.cloned(),
            trace_id: trace_id(request.headers()).map(Into::into),
            ..Self::of(peer)
        }
    }

    /// Whom the client is known as.
    pub(crate) fn identify(&mut self, identity: &Identity) {
        if let Identity::Known { subject, tier, .. } = identity {
            self.subject = Some(subject.to_string().into());
            self.tier.clone_from(tier);
        }
    }

    /// Why the verdict is what it is.
    pub(crate) fn explain(&mut self, plan: &Plan<'_>, verdict: &Verdict<'_>) {
        if let Some(reading) = verdict.deciding() {
            self.policy = Some(reading.source.limit.label.clone());
            self.remaining = Some(reading.decision.remaining);
            self.key = plan.charges.get(reading.place).map(|charge| charge.key);
        }
        match verdict.course {
            Course::Reject(Reason::Limited { retry_after }) => self.retry_after = Some(retry_after),
            Course::Reject(Reason::Unplanned(refusal)) => self.policy = refusing(&refusal),
            Course::Reject(_) | Course::Delay(_) | Course::Pass => {}
        }
        self.store_failure = verdict.failure.map(StoreFailure::name);
        self.shadow = verdict.shadow.as_ref().and_then(|shadow| match shadow {
            Shadow::Limit(reading) => Some(reading.source.limit.label.clone()),
            Shadow::Unplanned(refusal) => refusing(refusal),
        });
    }

    /// The line, as JSON with its line break.
    pub(super) fn json(&self) -> Vec<u8> {
        let mut object = Object::with_capacity(USUAL_BYTES);
        object.text("time", &utc(self.started));
        let id = self.request_id.as_ref().and_then(|id| id.to_str().ok());
        object.maybe_text("request_id", id);
        object.maybe_text("trace_id", self.trace_id.as_deref());
        object.text("client", &self.client.to_string());
        if let Some(asked) = &self.request {
            object.text("method", asked.method.as_str());
            object.text("host", &asked.host);
            object.text("path", &asked.path);
            object.text("protocol", protocol(asked.version));
        }
        object.maybe_text("tls", self.tls.map(TlsVersion::as_str));
        object.number("status", self.status.into());
        object.text("verdict", self.verdict);
        object.maybe_text("error", self.error);
        object.maybe_text("upstream_error", self.upstream_error);
        object.maybe_text("policy", self.policy.as_deref());
        object.maybe_text("key", self.key.map(short).as_deref());
        object.maybe_text("subject", self.subject.as_deref());
        object.maybe_text("tier", self.tier.as_deref());
        object.maybe_number("remaining", self.remaining);
        object.maybe_number("retry_after", self.retry_after.map(seconds_up));
        object.maybe_text("shadow", self.shadow.as_deref());
        object.maybe_text("store_failure", self.store_failure);
        object.number("bytes_in", self.bytes.0);
        object.number("bytes_out", self.bytes.1);
        object.number("duration_us", micros(self.duration));
        object.maybe_number("decision_us", self.decision.map(micros));
        object.maybe_number("upstream_us", self.upstream.map(micros));
        object.text("ended", self.ended);
        object.line()
    }
}

/// The policy that refuses, where it is one.
fn refusing(refusal: &Refusal<'_>) -> Option<Arc<str>> {
    match refusal {
        Refusal::MissingKeyPart { policy, .. } => Some(policy.name.clone()),
        _ => None,
    }
}

/// Enough of a counter's name to find the same client again. It is a hash under a secret of the process: nobody gets from it to what
/// was hashed, and another process writes another.
fn short(key: Key) -> String {
    format!("{:016x}", key.hash() >> 64)
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn seconds_up(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0))
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

/// RFC 3339, to the millisecond.
pub(crate) fn utc(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_nanosecond(time.as_nanos().into()).unwrap_or_default();
    format!("{time:.3}")
}

/// The trace of a valid `traceparent` (W3C Trace Context, section 3.2.2): `00-<32 digits>-<16 digits>-<2 digits>`.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.splitn(4, '-');
    let (version, trace, parent) = (parts.next()?, parts.next()?, parts.next()?);
    let flags = parts.next()?;
    let later = version != "00" && flags.as_bytes().get(2) == Some(&b'-');
    let flags = if later { &flags[..2] } else { flags };
    let valid = is_hex(version, 2)
        && version != "ff"
        && is_hex(trace, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && [trace, parent]
            .iter()
            .all(|id| id.bytes().any(|digit| digit != b'0'));
    valid.then_some(trace)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tidegate_core::{Cost, HoldId, KeyHasher, Table, TableSize};
    use tidegate_policy::{Descriptor, DescriptorCall, Entry, PolicyFile, compile};

    use super::*;

    #[test]
    fn of_two_descriptors_under_one_policy_the_one_that_decides_is_told() {
        let text = "policies: [{ name: user, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 5, window: 1m } }]";
        let file = PolicyFile { name: "t.yaml", text };
        let compiled = compile(file, &KeyHasher::new([0; 16])).unwrap();
        let table = Table::new(TableSize {
            bucket_bytes: 0,
            ledger_bytes: 0,
        });
        let now = Timestamp::from_nanos(1_800_000_000_000_000_000);
        let hits = [("ann", 1), ("bob", 4), ("cid", 2)];
        let descriptors = hits.map(|(value, hits)| Descriptor {
            entries: [Entry { key: "user", value }].into_iter().collect(),
            hits: Some(hits),
            limit: None,
        });
        let call = DescriptorCall {
            domain: "shop",
            descriptors: &descriptors,
            hits: None,
        };
        let planned = compiled.config.policies.plan_descriptors(&call, HoldId(1), now);
        assert_eq!(planned.plan.charges[1].cost, Cost::new(4));
        let decisions = table.charge(&planned.plan.charges, now);
        let mut line = Line::of(Ipv4Addr::LOCALHOST.into());
        line.explain(&planned.plan, &planned.plan.conclude(Ok(&decisions)));
        assert_eq!(line.remaining, Some(1));
        assert_eq!(line.key, Some(planned.plan.charges[1].key));
    }

    fn traced(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_str(value).unwrap());
        trace_id(&headers).map(ToOwned::to_owned)
    }

    #[test]
    fn a_trace_is_told_only_if_its_parent_is_well_formed() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = "00f067aa0ba902b7";
        assert_eq!(traced(&format!("00-{trace}-{parent}-01")).as_deref(), Some(trace));
        assert_eq!(
            traced(&format!("01-{trace}-{parent}-01-more")).as_deref(),
            Some(trace)
        );
        for broken in [
            format!("00-{trace}-{parent}-01-more"),
            format!("ff-{trace}-{parent}-01"),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{parent}-01", trace.to_uppercase()),
            format!("00-{trace}-{parent}"),
            "00".to_owned(),
        ] {
            assert_eq!(traced(&broken), None, "{broken}");
        }
    }

    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(
            utc(Timestamp::from_nanos(1_796_043_486_007_900_000)),
            "2026-11-30T12:58:06.007Z"
        );
    }

    #[test]
    fn waits_are_whole_seconds_rounded_up() {
        assert_eq!(seconds_up(Duration::from_millis(1)), 1);
        assert_eq!(seconds_up(Duration::from_secs(2)), 2);
    }
}
