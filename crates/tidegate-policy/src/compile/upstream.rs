//! What `upstreams` means.

use std::num::NonZeroU32;
use std::time::Duration;

use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, StatusCode};

use super::gateway::{parsed, within};
use super::policy::checked_name;
use crate::config::{
    ClientCertificate, Ejection, HealthCheck, Server, ServerUrl, Upstream, UpstreamError, UpstreamTls,
};
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, quoted};
use crate::document::upstream::{EjectionText, HealthText, ServerText, TlsText, UpstreamText};

/// The most often that a server is asked whether it is well, and the least often.
const EVERY: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// The longest first pause of a server that failed.
const MAX_PAUSE: Duration = Duration::from_secs(3600);

/// The most tries after the first.
const MAX_RETRIES: u64 = 5;

/// What `text` means; what is wrong with it is in `report`, and the rest is there all the same.
pub(super) fn upstream(text: &UpstreamText, report: &mut Report<'_>) -> Upstream {
    checked_name(&text.name, "an upstream", report);
    let servers = servers(&text.servers, report);
    let has_tls = servers.iter().any(|server| server.url.is_tls());
    Upstream {
        name: text.name.value.as_str().into(),
        servers,
        tls: text
            .tls
            .as_ref()
            .map_or_else(UpstreamTls::default, |text| tls(text, has_tls, report)),
        health: text.health.as_ref().and_then(|text| health(text, report)),
        ejection: match &text.ejection {
            None => Some(Ejection::default()),
            Some(EjectionText::Off) => None,
            Some(EjectionText::After { failures, pause }) => {
                Some(ejection(failures.as_ref(), pause.as_ref(), report))
            }
        },
        retries: text
            .retries
            .as_ref()
            .and_then(|text| within(text, 0..=MAX_RETRIES, report))
            .unwrap_or(Upstream::DEFAULT_RETRIES),
    }
}

/// The upstream that is written as a URL alone.
pub(super) fn by_url(text: &Spanned<String>, report: &mut Report<'_>) -> Option<Upstream> {
    parsed(
        text,
        "an upstream",
        |error: UpstreamError| error.to_string(),
        report,
    )
}

fn servers(texts: &[ServerText], report: &mut Report<'_>) -> Vec<Server> {
    let mut servers: Vec<Server> = Vec::new();
    for text in texts {
        let weight = text.weight.as_ref().map_or(Some(NonZeroU32::MIN), |weight| {
            within(weight, 1..=1000, report).and_then(NonZeroU32::new)
        });
        let url: Option<ServerUrl> = parsed(
            &text.url,
            "a server",
            |error: UpstreamError| error.to_string(),
            report,
        );
        let Some((url, weight)) = url.zip(weight) else {
            continue;
        };
        if servers.iter().any(|known| known.url == url) {
            let message = format!("the server {} is written twice", quoted(&text.url.value));
            report.error(text.url.at, message, "keep one of them, with a `weight`");
        }
        servers.push(Server { url, weight });
    }
    servers
}

fn tls(text: &TlsText, has_tls: bool, report: &mut Report<'_>) -> UpstreamTls {
    if !has_tls {
        let message = "`tls` has no effect: no server of this upstream has `https://`";
        report.error(text.at, message, "write `https://` in `servers`, or remove `tls`");
    }
    let insecure = text.insecure_skip_verify.as_ref();
    if let Some(insecure) = insecure.filter(|insecure| insecure.value) {
        let message =
            "certificates are not checked: anybody on the way can read and change what is forwarded";
        report.warning(
            insecure.at,
            message,
            "name the roots that sign them with `ca: ca.pem`",
        );
        if let Some(ca) = &text.ca {
            let message = "`ca` has no effect beside `insecure_skip_verify`";
            report.error(ca.at, message, "remove `insecure_skip_verify`");
        }
    }
    UpstreamTls {
        ca: text.ca.as_ref().map(|ca| ca.value.clone()),
        server_name: server_name(text.server_name.as_ref(), report),
        client: client_certificate(text.certificate.as_ref(), text.key.as_ref(), report),
        insecure_skip_verify: insecure.is_some_and(|insecure| insecure.value),
    }
}

/// The name that certificates must have.
pub(super) fn server_name(text: Option<&Spanned<String>>, report: &mut Report<'_>) -> Option<String> {
    let name = text?;
    if !is_server_name(&name.value) {
        let message = format!(
            "{} is not a name that a certificate can have",
            quoted(&name.value)
        );
        report.error(
            name.at,
            message,
            "write a name without scheme and port: `app.internal`",
        );
    }
    Some(name.value.clone())
}

/// Whether `text` is a DNS name or an address.
fn is_server_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.parse::<std::net::IpAddr>().is_ok() || (text.len() <= 253 && text.split('.').all(is_label))
}

pub(super) fn client_certificate(
    certificate: Option<&Spanned<String>>,
    key: Option<&Spanned<String>>,
    report: &mut Report<'_>,
) -> Option<ClientCertificate> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Some(ClientCertificate {
            certificate: certificate.value.clone(),
            key: key.value.clone(),
        }),
        (None, None) => None,
        (Some(alone), None) => {
            report.error(
                alone.at,
                "a certificate is of no use without its key",
                "add `key: client.key`",
            );
            None
        }
        (None, Some(alone)) => {
            report.error(
                alone.at,
                "a key is of no use without its certificate",
                "add `certificate: client.pem`",
            );
            None
        }
    }
}

fn health(text: &HealthText, report: &mut Report<'_>) -> Option<HealthCheck> {
    let every = text.every.as_ref().map_or(Duration::from_secs(5), |every| {
        span(every, EVERY, "100ms", "1h", report)
    });
    let timeout = match &text.timeout {
        Some(timeout) => {
            if timeout.value > every {
                report.error(
                    timeout.at,
                    "an answer may not take longer than `every`",
                    "raise `every`, or lower `timeout`",
                );
            }
            span(
                timeout,
                Duration::from_millis(1)..=*EVERY.end(),
                "1ms",
                "1h",
                report,
            )
        }
        None => every.min(Duration::from_secs(1)),
    };
    let times = |text: &Option<Spanned<u64>>, default, report: &mut Report<'_>| {
        text.as_ref()
            .and_then(|text| within(text, 1..=100, report))
            .unwrap_or(default)
    };
    Some(HealthCheck {
        host: text.host.as_ref().and_then(|host| host_value(host, report)),
        every,
        timeout,
        healthy_after: times(&text.healthy_after, 2, report),
        unhealthy_after: times(&text.unhealthy_after, 3, report),
        expect: expect(text.expect.as_deref(), report),
        path: health_path(text.path.as_ref()?, report)?,
    })
}

fn health_path(text: &Spanned<String>, report: &mut Report<'_>) -> Option<PathAndQuery> {
    let path = text.value.parse().ok();
    if path.is_none() || !text.value.starts_with('/') {
        let message = format!("{} is not a path", quoted(&text.value));
        report.error(text.at, message, "begin it with `/`, such as `/health`");
    }
    path
}

/// `text` as the value of `Host`.
pub(super) fn host_value(text: &Spanned<String>, report: &mut Report<'_>) -> Option<HeaderValue> {
    let authority: Option<Authority> = text.value.parse().ok();
    let value = authority
        .filter(|authority| !authority.host().is_empty() && !text.value.contains('@'))
        .and_then(|_| HeaderValue::from_str(&text.value).ok());
    if value.is_none() {
        let message = format!("{} is not a host", quoted(&text.value));
        report.error(
            text.at,
            message,
            "write a name, with a port if it needs one: `app.internal`",
        );
    }
    value
}

fn expect(texts: Option<&[Spanned<u64>]>, report: &mut Report<'_>) -> Vec<StatusCode> {
    let Some(texts) = texts else {
        return vec![StatusCode::OK];
    };
    let mut statuses = Vec::new();
    for text in texts {
        let status = within(text, 200..=599, report);
        if let Some(status) = status.and_then(|status: u16| StatusCode::from_u16(status).ok()) {
            statuses.push(status);
        }
    }
    statuses
}

fn ejection(
    failures: Option<&Spanned<u64>>,
    pause: Option<&Spanned<Duration>>,
    report: &mut Report<'_>,
) -> Ejection {
    let default = Ejection::default();
    Ejection {
        failures: failures
            .and_then(|failures| within(failures, 1..=1000, report))
            .unwrap_or(default.failures),
        pause: pause.map_or(default.pause, |pause| {
            span(pause, Duration::from_millis(1)..=MAX_PAUSE, "1ms", "1h", report)
        }),
    }
}

/// The duration `text`, if it lies in `range`, which messages write as `from` and `to`.
fn span(
    text: &Spanned<Duration>,
    range: std::ops::RangeInclusive<Duration>,
    from: &str,
    to: &str,
    report: &mut Report<'_>,
) -> Duration {
    if !range.contains(&text.value) {
        out_of_range(text.at, from, to, report);
    }
    text.value
}

fn out_of_range(at: Place, from: &str, to: &str, report: &mut Report<'_>) {
    report.error(
        at,
        "this duration is out of range",
        format!("write a duration from `{from}` to `{to}`"),
    );
}
