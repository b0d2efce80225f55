//! What `store` means.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::gateway::within;
use super::upstream::{client_certificate, server_name};
use crate::config::store::{AddressFault, StoreUrl, UrlFault};
use crate::config::{HostPort, SecretPlace, SharedStore, StoreLogin, StorePlace, StoreSettings, StoreTls};
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, quoted};
use crate::document::store::{LoginText, SecretText, StoreFields, StoreText, StoreTlsText};

/// How much memory counters can do with, and how much they may be given: from 64 KiB to 1 TiB.
const MEMORY_BYTES: RangeInclusive<u64> = 1 << 16..=1 << 40;

/// How long a decision may take: a request waits for it.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);

/// How long it may take to connect.
const CONNECT_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);

/// The most Sentinels, and the most nodes of a Cluster that a file names.
const MAX_SERVERS: usize = 64;

/// The longest prefix. Each counter's name has it.
const MAX_PREFIX_BYTES: usize = 32;

/// The longest name that Sentinels may have for a master.
const MAX_SERVICE_BYTES: usize = 128;

/// The port of Sentinels.
const SENTINEL_PORT: u16 = 26379;

pub(super) fn store(text: Option<&StoreText>, report: &mut Report<'_>) -> StoreSettings {
    match text {
        None => StoreSettings::default(),
        Some(StoreText::Named(name)) if name.value == "memory" => StoreSettings::default(),
        Some(StoreText::Named(name)) if StoreUrl::is_meant(&name.value) => {
            let shared = url(name, report).map(shared_at);
            judge_login(shared.as_ref().map(|store| &store.login), name.at, report);
            StoreSettings {
                shared,
                ..StoreSettings::default()
            }
        }
        Some(StoreText::Named(name)) => {
            let message = format!("there is no store {}", quoted(&name.value));
            let cure = "write `memory`, or a URL such as `redis://127.0.0.1:6379`";
            report.error(name.at, message, cure);
            StoreSettings::default()
        }
        Some(StoreText::Written(fields)) => written(fields, report),
    }
}

fn written(text: &StoreFields, report: &mut Report<'_>) -> StoreSettings {
    let memory = text.memory.as_ref();
    let memory = memory.and_then(|bytes| within(bytes, MEMORY_BYTES, report));
    let shared = if text.is_shared {
        shared(text, report)
    } else {
        without_shared(text, report);
        None
    };
    StoreSettings {
        memory_bytes: memory.unwrap_or(StoreSettings::default().memory_bytes),
        shared,
    }
}

fn without_shared(text: &StoreFields, report: &mut Report<'_>) {
    let cure = "add `redis: redis://127.0.0.1:6379`, `sentinel: […]` or `cluster: […]`, or remove it";
    for (name, at) in &text.of_shared {
        report.error(
            *at,
            format!("`{name}` says nothing here: no store is shared"),
            cure,
        );
    }
    if text.memory.is_none() && text.of_shared.is_empty() {
        let message = "`store` does not say where counters are";
        report.error(
            text.at,
            message,
            "add `memory: 64MiB` or `redis: redis://127.0.0.1:6379`",
        );
    }
}

/// What a place says, as far as it is said there.
struct Said {
    place: StorePlace,
    is_tls: bool,
    username: Option<String>,
    database: Option<u32>,
}

/// A store of which only its URL is written.
fn shared_at(said: Said) -> SharedStore {
    SharedStore {
        place: said.place,
        tls: said.is_tls.then(StoreTls::default),
        login: StoreLogin {
            username: said.username,
            password: None,
        },
        database: said.database.unwrap_or(0),
        timeout: SharedStore::TIMEOUT,
        connect_timeout: SharedStore::CONNECT_TIMEOUT,
        prefix: SharedStore::PREFIX.to_owned(),
        key_secret: None,
    }
}

fn shared(text: &StoreFields, report: &mut Report<'_>) -> Option<SharedStore> {
    judge_places(text, report);
    let said = if let Some(servers) = &text.sentinel {
        sentinel(text, servers, report)
    } else if let Some(nodes) = &text.cluster {
        cluster(nodes, report)
    } else {
        text.redis.as_ref().and_then(|redis| url(redis, report))
    };
    refuse_misplaced(text, said.as_ref(), report);
    let login = login(&text.login, report);
    let tls = text.tls.as_ref().map(|tls| self::tls(tls, report));
    let database = text.database.as_ref();
    let database = database.and_then(|number| within(number, 0..=u64::from(u32::MAX), report));
    let timeout = text.timeout.as_ref();
    let timeout = timeout.map_or(SharedStore::TIMEOUT, |text| wait(text, TIMEOUT, report));
    let connect = text.connect_timeout.as_ref();
    let connect_timeout = connect.map_or(SharedStore::CONNECT_TIMEOUT, |text| {
        wait(text, CONNECT_TIMEOUT, report)
    });
    let prefix = text
        .prefix
        .as_ref()
        .and_then(|prefix| self::prefix(prefix, report));
    let key_secret = secret(&text.key_secret, report);
    let of_url = shared_at(said?);
    let login = StoreLogin {
        username: login.username.or(of_url.login.username),
        password: login.password,
    };
    judge_login(Some(&login), text.at, report);
    Some(SharedStore {
        login,
        tls: tls.or(of_url.tls),
        database: database.unwrap_or(of_url.database),
        timeout,
        connect_timeout,
        prefix: prefix.unwrap_or(of_url.prefix),
        key_secret,
        place: of_url.place,
    })
}

/// There is one place.
fn judge_places(text: &StoreFields, report: &mut Report<'_>) {
    let first = |texts: &Option<Vec<Spanned<String>>>| texts.as_ref()?.first().map(|text| text.at);
    let places = [
        text.redis.as_ref().map(|text| text.at),
        first(&text.sentinel),
        first(&text.cluster),
    ];
    if let Some(second) = places.into_iter().flatten().nth(1) {
        let message = "a store is in one place";
        report.error(second, message, "keep one of `redis`, `sentinel` and `cluster`");
    }
}

fn url(text: &Spanned<String>, report: &mut Report<'_>) -> Option<Said> {
    match text.value.parse() {
        Ok(StoreUrl::Tcp {
            is_tls,
            username,
            server,
            database,
        }) => Some(Said {
            place: StorePlace::Server(server),
            is_tls,
            username,
            database,
        }),
        Ok(StoreUrl::Unix(path)) => Some(Said {
            place: StorePlace::Socket(path),
            is_tls: false,
            username: None,
            database: None,
        }),
        Err(fault) => {
            bad_url(text, fault, report);
            None
        }
    }
}

fn bad_url(text: &Spanned<String>, fault: UrlFault, report: &mut Report<'_>) {
    let cure = match fault {
        UrlFault::Password => {
            // Whatever stands in a URL ends in logs, in lists of processes and in other people's sight.
            let message = "a password does not belong into a policy file";
            let cure = "change it, and name where it is: `store: { redis: redis://user@host:6379, password_env: REDIS_PASSWORD }`";
            return report.secret_error(text.at, message, cure);
        }
        UrlFault::Scheme => "begin it with `redis://`, `rediss://` (TLS) or `unix://`",
        UrlFault::Authority => "write `redis://host:port`, and any other name of a user as `username: …`",
        UrlFault::Database => "write the number of a database behind the host: `redis://host:6379/0`",
        UrlFault::Socket => {
            "write `unix://` and an absolute path of at most 107 bytes: `unix:///run/redis.sock`"
        }
    };
    report.error(
        text.at,
        format!("{} is no URL of a store", quoted(&text.value)),
        cure,
    );
}

fn sentinel(text: &StoreFields, servers: &[Spanned<String>], report: &mut Report<'_>) -> Option<Said> {
    let sentinels: Vec<Option<HostPort>> = bounded(servers, report)
        .iter()
        .map(|server| sentinel_address(server, report))
        .collect();
    let login = login(&text.sentinel_login, report);
    let Some(service) = &text.service else {
        if !text.of_shared.iter().any(|(name, _)| *name == "service") {
            let message = "`sentinel` needs the name that Sentinels have for the master";
            report.error(text.at, message, "add `service: mymaster`");
        }
        return None;
    };
    if service.value.len() > MAX_SERVICE_BYTES || !service.value.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("{} cannot be the name of a master", quoted(&service.value));
        report.error(
            service.at,
            message,
            "write it as in `sentinel monitor mymaster …`",
        );
    }
    Some(Said {
        place: StorePlace::Sentinel {
            sentinels: sentinels.into_iter().collect::<Option<_>>()?,
            service: service.value.clone(),
            login,
        },
        is_tls: false,
        username: None,
        database: None,
    })
}

fn sentinel_address(text: &Spanned<String>, report: &mut Report<'_>) -> Option<HostPort> {
    let address = HostPort::parse(&text.value, SENTINEL_PORT);
    address
        .map_err(|AddressFault| {
            let message = format!("{} is no address of a Sentinel", quoted(&text.value));
            report.error(text.at, message, "write `host:port`, such as `10.0.0.7:26379`");
        })
        .ok()
}

fn cluster(nodes: &[Spanned<String>], report: &mut Report<'_>) -> Option<Said> {
    let mut all = Vec::new();
    let mut is_tls = None;
    for node in bounded(nodes, report) {
        let Said {
            place: StorePlace::Server(server),
            is_tls: with_tls,
            username: None,
            database: None | Some(0),
        } = url(node, report)?
        else {
            let message = format!("{} is no node of a Cluster", quoted(&node.value));
            let cure = "write `redis://host:port` or `rediss://host:port`, and the user as `username: …`";
            report.error(node.at, message, cure);
            return None;
        };
        if *is_tls.get_or_insert(with_tls) != with_tls {
            let message = "the nodes of a Cluster speak TLS all of them, or none";
            report.error(node.at, message, "write `rediss://` for all");
        }
        all.push(server);
    }
    Some(Said {
        place: StorePlace::Cluster(all),
        is_tls: is_tls.unwrap_or(false),
        username: None,
        database: None,
    })
}

fn bounded<'t>(texts: &'t [Spanned<String>], report: &mut Report<'_>) -> &'t [Spanned<String>] {
    if let Some(first_beyond) = texts.get(MAX_SERVERS) {
        let message = format!("at most {MAX_SERVERS} servers are named here");
        report.error(
            first_beyond.at,
            message,
            "name some of them: they tell of the others",
        );
    }
    texts.get(..MAX_SERVERS).unwrap_or(texts)
}

/// What is written and does not belong to this kind of place.
fn refuse_misplaced(text: &StoreFields, said: Option<&Said>, report: &mut Report<'_>) {
    let Some(said) = said else {
        return;
    };
    let is_sentinel = matches!(said.place, StorePlace::Sentinel { .. });
    let is_cluster = matches!(said.place, StorePlace::Cluster(_));
    for (name, at) in &text.of_shared {
        let cure = match *name {
            "service" | "sentinel_username" | "sentinel_password_env" | "sentinel_password_file"
                if !is_sentinel =>
            {
                "remove it, or name your Sentinels by `sentinel`"
            }
            "database" if is_cluster => "remove it: a Cluster has only one",
            "database" if said.database.is_some() => "keep it in the URL alone",
            "username" if said.username.is_some() => "keep it in the URL alone",
            "tls" if !is_sentinel && !said.is_tls => "write `rediss://`, or remove it",
            _ => continue,
        };
        report.error(*at, format!("`{name}` says nothing here"), cure);
    }
}

fn login(text: &LoginText, report: &mut Report<'_>) -> StoreLogin {
    StoreLogin {
        username: text.username.as_ref().map(|name| name.value.clone()),
        password: secret(&text.password, report),
    }
}

/// Servers ask for both.
fn judge_login(login: Option<&StoreLogin>, at: Place, report: &mut Report<'_>) {
    if login.is_some_and(|login| login.username.is_some() && login.password.is_none()) {
        let message = "a user without a password: the store is not told of it";
        let cure = "write `store: { redis: …, password_env: REDIS_PASSWORD }`";
        report.warning(at, message, cure);
    }
}

pub(super) fn secret(text: &SecretText, report: &mut Report<'_>) -> Option<SecretPlace> {
    match (&text.env, &text.file) {
        (Some(_), Some(file)) => {
            let message = "a secret is in one place";
            report.error(file.at, message, "keep the variable or the file");
            None
        }
        (Some(variable), None) => Some(SecretPlace::Env(variable.value.clone())),
        (None, Some(file)) => Some(SecretPlace::File(file.value.clone())),
        (None, None) => None,
    }
}

fn tls(text: &StoreTlsText, report: &mut Report<'_>) -> StoreTls {
    StoreTls {
        ca: text.ca.as_ref().map(|ca| ca.value.clone()),
        server_name: server_name(text.server_name.as_ref(), report),
        client: client_certificate(text.certificate.as_ref(), text.key.as_ref(), report),
    }
}

/// The time `text`, which has to lie in `range`.
pub(super) fn wait(
    text: &Spanned<Duration>,
    range: RangeInclusive<Duration>,
    report: &mut Report<'_>,
) -> Duration {
    if !range.contains(&text.value) {
        let message = format!("{:?} is out of range", text.value);
        let cure = format!("write a time from {:?} to {:?}", range.start(), range.end());
        report.error(text.at, message, cure);
    }
    text.value
}

/// Braces would say what a Cluster places names by.
fn prefix(text: &Spanned<String>, report: &mut Report<'_>) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if text.value.len() > MAX_PREFIX_BYTES || !text.value.bytes().all(allowed) {
        let message = format!("{} cannot be what names begin with", quoted(&text.value));
        let cure = format!("write letters, digits, `_`, `-`, `.` and `:`, at most {MAX_PREFIX_BYTES}");
        report.error(text.at, message, cure);
        return None;
    }
    Some(text.value.clone())
}

#[cfg(test)]
mod tests;
