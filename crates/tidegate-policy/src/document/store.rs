//! `store`, as typed.

use std::time::Duration;

use super::fields::Fields;
use super::gateway::texts;
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;

/// `store`, as typed.
#[derive(Debug)]
pub(crate) enum StoreText {
    /// A word or a URL.
    Named(Spanned<String>),
    /// A mapping.
    Written(Box<StoreFields>),
}

/// The mapping `store`, as typed.
#[derive(Debug)]
pub(crate) struct StoreFields {
    pub(crate) at: Place,
    pub(crate) memory: Option<Spanned<u64>>,
    /// Whether one of `redis`, `sentinel` and `cluster` is written, rightly or not.
    pub(crate) is_shared: bool,
    pub(crate) redis: Option<Spanned<String>>,
    pub(crate) sentinel: Option<Vec<Spanned<String>>>,
    pub(crate) service: Option<Spanned<String>>,
    pub(crate) cluster: Option<Vec<Spanned<String>>>,
    pub(crate) login: LoginText,
    pub(crate) sentinel_login: LoginText,
    pub(crate) database: Option<Spanned<u64>>,
    pub(crate) tls: Option<StoreTlsText>,
    pub(crate) timeout: Option<Spanned<Duration>>,
    pub(crate) connect_timeout: Option<Spanned<Duration>>,
    pub(crate) prefix: Option<Spanned<String>>,
    pub(crate) key_secret: SecretText,
    /// The fields that only a shared store has, as far as they are written.
    pub(crate) of_shared: Vec<(&'static str, Place)>,
}

/// Who we are to a server, as typed.
#[derive(Debug)]
pub(crate) struct LoginText {
    pub(crate) username: Option<Spanned<String>>,
    pub(crate) password: SecretText,
}

/// Where a secret is, as typed.
#[derive(Debug)]
pub(crate) struct SecretText {
    pub(crate) env: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
}

/// `tls` of a store, as typed.
#[derive(Debug)]
pub(crate) struct StoreTlsText {
    pub(crate) ca: Option<Spanned<String>>,
    pub(crate) server_name: Option<Spanned<String>>,
    pub(crate) certificate: Option<Spanned<String>>,
    pub(crate) key: Option<Spanned<String>>,
}

/// The fields of a shared store beside its place.
const OF_SHARED: [&str; 14] = [
    "service",
    "username",
    "password_env",
    "password_file",
    "sentinel_username",
    "sentinel_password_env",
    "sentinel_password_file",
    "database",
    "tls",
    "timeout",
    "connect_timeout",
    "prefix",
    "key_secret_env",
    "key_secret_file",
];

impl StoreText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if let Value::Text(_) = node.value {
            return scalar::text(node, report).map(Self::Named);
        }
        let mut fields = Fields::of(node, "`store`", report)?;
        refuse_inline_secrets(&mut fields, report);
        let places = ["redis", "sentinel", "cluster"];
        let store = StoreFields {
            at: node.at,
            is_shared: places.iter().any(|name| fields.place(name).is_some()),
            memory: fields.read("memory", report, scalar::size),
            redis: fields.read("redis", report, scalar::text),
            sentinel: fields.read("sentinel", report, texts),
            service: fields.read("service", report, scalar::text),
            cluster: fields.read("cluster", report, texts),
            login: LoginText {
                username: fields.read("username", report, scalar::text),
                password: SecretText::read(&mut fields, ["password_env", "password_file"], report),
            },
            sentinel_login: LoginText {
                username: fields.read("sentinel_username", report, scalar::text),
                password: SecretText::read(
                    &mut fields,
                    ["sentinel_password_env", "sentinel_password_file"],
                    report,
                ),
            },
            database: fields.read("database", report, scalar::integer),
            tls: fields.read("tls", report, StoreTlsText::read),
            timeout: fields.read("timeout", report, scalar::duration),
            connect_timeout: fields.read("connect_timeout", report, scalar::duration),
            prefix: fields.read("prefix", report, scalar::text),
            key_secret: SecretText::read(&mut fields, ["key_secret_env", "key_secret_file"], report),
            of_shared: OF_SHARED
                .iter()
                .filter_map(|name| Some((*name, fields.place(name)?)))
                .collect(),
        };
        fields.finish(report);
        Some(Self::Written(Box::new(store)))
    }

    /// Whether it is meant to be a store that instances share, be it written rightly or not.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Named(name) => name.value.contains("://"),
            Self::Written(store) => store.is_shared,
        }
    }
}

impl SecretText {
    pub(super) fn read(
        fields: &mut Fields<'_>,
        [env, file]: [&'static str; 2],
        report: &mut Report<'_>,
    ) -> Self {
        Self {
            env: fields.read(env, report, scalar::text),
            file: fields.read(file, report, scalar::text),
        }
    }
}

impl StoreTlsText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`tls` of a store", report)?;
        let tls = Self {
            ca: fields.read("ca", report, scalar::text),
            server_name: fields.read("server_name", report, scalar::text),
            certificate: fields.read("certificate", report, scalar::text),
            key: fields.read("key", report, scalar::text),
        };
        fields.finish(report);
        Some(tls)
    }
}

/// Policy files are shown, copied and kept under version control.
fn refuse_inline_secrets(fields: &mut Fields<'_>, report: &mut Report<'_>) {
    for (name, cure) in [
        (
            "password",
            "change it, and name where it is: `password_env: REDIS_PASSWORD` or `password_file: redis.password`",
        ),
        (
            "sentinel_password",
            "change it, and name where it is: `sentinel_password_env: …` or `sentinel_password_file: …`",
        ),
        (
            "key_secret",
            "make a new one, and name where it is: `key_secret_env: KEY_SECRET` or `key_secret_file: key.secret`",
        ),
    ] {
        if let Some(at) = fields.refuse(name) {
            report.secret_error(at, "a secret does not belong into a policy file", cure);
        }
    }
}
