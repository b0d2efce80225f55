//! Any text is an expression or an error; any request has a value for it, or a failure that is told.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderValue, Method, Version};
use libfuzzer_sys::fuzz_target;
use tidegate_core::{HoldId, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, PolicyFile, Request, compile};

fuzz_target!(|input: (&str, &str, &str, &str)| {
    let (source, path, query, content) = input;
    let source = serde_json::to_string(source).unwrap_or_default();
    for fields in [
        format!("when: {source}, key: [client.ip]"),
        format!("cost: {source}, key: [client.ip]"),
        format!("key: [{source}], on_missing: fallback"),
    ] {
        let text = format!("policies:\n  - {{ name: a, limit: {{ quota: 9, window: 1s }}, {fields} }}\n");
        let file = PolicyFile {
            name: "fuzzed.yaml",
            text: &text,
        };
        let Ok(compiled) = compile(file, &KeyHasher::new([7; 16])) else {
            continue;
        };
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        for line in content.lines() {
            if let Ok(value) = HeaderValue::from_bytes(line.as_bytes()) {
                headers.append("x-a", value.clone());
                headers.append("cookie", value);
            }
        }
        let body = Body::whole(content.as_bytes().to_vec().into());
        let request = Request {
            method: &Method::POST,
            version: Version::HTTP_11,
            host: "a.test",
            path: &format!("/{path}"),
            query: Some(query),
            headers: &headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tls: None,
            body: &body,
        };
        let policies = &compiled.config.policies;
        let plan = policies.plan(&request, &Identity::Anonymous, HoldId(1), Timestamp::EPOCH);
        // Nothing fails in silence: a policy that counts everything has counted, refused, or says why not.
        assert!(
            !plan.charges.is_empty()
                || plan.refusal.is_some()
                || !plan.failures.is_empty()
                || fields.starts_with("when"),
            "{plan:?}"
        );
    }
});
