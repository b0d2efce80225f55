//! Whatever a body holds, policies read it within their bounds, and a plan neither panics nor charges what it refuses.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Version};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tidegate_core::{HoldId, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, PolicyFile, PolicySet, Request, compile};

static SET: LazyLock<PolicySet> = LazyLock::new(|| {
    let text = "
policies:
  - { name: json, key: [body.json.a.0.b, body.json.c], on_missing: fallback, limit: { quota: 1, window: 1s } }
  - { name: form, key: [body.form.a], on_missing: fallback, limit: { quota: 1, window: 1s } }
  - { name: graphql, key: [body.graphql.operation, body.graphql.type], on_missing: fallback, limit: { quota: 1, window: 1s } }
  - { name: wanted, match: { body: { json.a: { prefix: x } } }, key: [client.ip], limit: { quota: 1, window: 1s } }
";
    let file = PolicyFile { name: "fuzz.yaml", text };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => unreachable!("{problems}"),
    }
});

const TYPES: [&str; 4] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/graphql",
    "text/plain",
];

fuzz_target!(|input: (u8, Option<&str>, &[u8])| {
    let (kind, query, bytes) = input;
    let mut headers = HeaderMap::new();
    let media = TYPES[usize::from(kind) % TYPES.len()];
    headers.insert("content-type", HeaderValue::from_static(media));
    let body = Body::whole(Bytes::copy_from_slice(bytes));
    let request = Request {
        method: &Method::POST,
        version: Version::HTTP_11,
        host: "a.test",
        path: "/",
        query,
        headers: &headers,
        client: std::net::Ipv4Addr::LOCALHOST.into(),
        tls: None,
        body: &body,
    };
    let plan = || SET.plan(&request, &Identity::Anonymous, HoldId(1), Timestamp::from_nanos(1));
    let (first, second) = (plan(), plan());
    let keys = |plan: &tidegate_policy::Plan<'_>| plan.charges.iter().map(|charge| charge.key).collect::<Vec<_>>();
    assert_eq!(keys(&first), keys(&second));
    assert!(first.refusal.is_none() || first.charges.is_empty());
    if let (Some(document), Ok(text)) = (request.json(), std::str::from_utf8(bytes)) {
        // What is read is what serde_json reads.
        assert_eq!(serde_json::from_str(text).ok().as_ref(), Some(document));
    }
    let _ = (request.form(), request.graphql());
});
