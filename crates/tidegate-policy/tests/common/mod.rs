//! Requests and sets for tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "only tests use it")]

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, Key, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, Plan, PolicyFile, PolicySet, Request, compile};

/// The set that `yaml` describes.
pub(crate) fn set(yaml: &str) -> PolicySet {
    let file = PolicyFile {
        name: "test.yaml",
        text: yaml,
    };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => panic!("{problems}\n{yaml}"),
    }
}

/// A request that owns its parts.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    /// Values of the header field `x-kind`, one line each.
    pub(crate) headers: Vec<&'static str>,
    /// Values of the query parameter `kind`.
    pub(crate) query: Vec<&'static str>,
    /// Any other header fields.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// Values of the cookie `kind`.
    pub(crate) cookies: Vec<&'static str>,
    pub(crate) client: IpAddr,
    pub(crate) identity: Identity,
    pub(crate) now: Timestamp,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            host: "a.com".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            fields: Vec::new(),
            query: Vec::new(),
            cookies: Vec::new(),
            client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            identity: Identity::Anonymous,
            now: Timestamp::from_nanos(1_800_000_000_000_000_000),
        }
    }
}

impl Asked {
    /// Hands the plan of `set` for this request to `look`.
    pub(crate) fn plan<T>(&self, set: &PolicySet, look: impl FnOnce(Plan<'_>) -> T) -> T {
        let method = Method::from_bytes(self.method.as_bytes()).unwrap();
        let mut headers = HeaderMap::new();
        for value in &self.headers {
            headers.append("x-kind", HeaderValue::from_static(value));
        }
        for (name, value) in &self.fields {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        for value in &self.cookies {
            headers.append("cookie", HeaderValue::from_str(&format!("kind={value}")).unwrap());
        }
        let query: Vec<_> = self.query.iter().map(|value| format!("kind={value}")).collect();
        let query = query.join("&");
        let request = Request {
            method: &method,
            version: Version::HTTP_11,
            host: &self.host,
            path: &self.path,
            query: (!query.is_empty()).then_some(query.as_str()),
            headers: &headers,
            client: self.client,
            tls: None,
            body: &Body::UNREAD,
        };
        look(set.plan(&request, &self.identity, HoldId(1), self.now))
    }
}

/// The names of the policies that charge `asked`.
pub(crate) fn names(set: &PolicySet, asked: &Asked) -> Vec<String> {
    asked.plan(set, |plan| {
        plan.sources
            .iter()
            .map(|source| source.policy.name.to_string())
            .collect()
    })
}

/// The keys that `asked` is counted under, in the order of the plan.
pub(crate) fn keys(set: &PolicySet, asked: &Asked) -> Vec<Key> {
    asked.plan(set, |plan| plan.charges.iter().map(|charge| charge.key).collect())
}
