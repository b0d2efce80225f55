//! What expressions cost, beside a policy of plain fields: `cargo bench -p tidegate-policy --bench expressions`.
//!
//! Every bench plans one request under one policy; the plain policy is the yardstick.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use divan::Bencher;
use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, PolicyFile, PolicySet, Request, compile};

fn main() {
    divan::main();
}

#[divan::bench]
fn plain(bencher: Bencher<'_, '_>) {
    plan(bencher, "key: [header.x-tenant]", &Body::UNREAD);
}

#[divan::bench]
fn with_when(bencher: Bencher<'_, '_>) {
    let fields =
        "when: 'request.method == \"POST\" && request.path.startsWith(\"/api/\")', key: [header.x-tenant]";
    plan(bencher, fields, &Body::UNREAD);
}

#[divan::bench]
fn with_key(bencher: Bencher<'_, '_>) {
    plan(bencher, "key: ['request.headers[\"x-tenant\"]']", &Body::UNREAD);
}

#[divan::bench]
fn with_a_made_key(bencher: Bencher<'_, '_>) {
    plan(
        bencher,
        "key: ['request.headers[\"x-tenant\"].lowerAscii()']",
        &Body::UNREAD,
    );
}

#[divan::bench]
fn with_cost(bencher: Bencher<'_, '_>) {
    plan(
        bencher,
        "cost: 'request.method == \"POST\" ? 5 : 1', key: [header.x-tenant]",
        &Body::UNREAD,
    );
}

#[divan::bench]
fn with_a_regular_expression(bencher: Bencher<'_, '_>) {
    plan(
        bencher,
        "when: 'request.path.matches(\"^/api/v[0-9]+/\")', key: [header.x-tenant]",
        &Body::UNREAD,
    );
}

#[divan::bench]
fn with_a_network(bencher: Bencher<'_, '_>) {
    let fields =
        "when: '!cidr([\"10.0.0.0/8\", \"192.168.0.0/16\"]).contains(client.ip)', key: [header.x-tenant]";
    plan(bencher, fields, &Body::UNREAD);
}

#[divan::bench]
fn with_when_key_and_cost(bencher: Bencher<'_, '_>) {
    let fields = "when: 'request.method == \"POST\"', key: ['request.headers[\"x-tenant\"]'], cost: 'request.method == \"POST\" ? 5 : 1'";
    plan(bencher, fields, &Body::UNREAD);
}

/// The work that the bound allows: as many steps as one evaluation may take, and then it fails.
#[divan::bench]
fn the_longest(bencher: Bencher<'_, '_>) {
    let items: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    let body = Body::whole(Bytes::from(format!("{{\"a\": [{}]}}", items.join(","))));
    let fields =
        "when: 'body.json.a.all(x, body.json.a.all(y, x + y >= 0))', on_error: skip, key: [header.x-tenant]";
    plan(bencher, fields, &body);
}

/// The same, with the slowest step there is: a regular expression over each item.
#[divan::bench]
fn the_longest_with_regular_expressions(bencher: Bencher<'_, '_>) {
    let items: Vec<String> = (0..600)
        .map(|number| format!("\"{}{number}\"", "ab".repeat(40)))
        .collect();
    let body = Body::whole(Bytes::from(format!("{{\"a\": [{}]}}", items.join(","))));
    let fields = "when: 'body.json.a.all(x, !x.matches(\"(a|b|ab|ba|aba)*c[a-c]{1,40}d\"))', on_error: skip, key: [header.x-tenant]";
    plan(bencher, fields, &body);
}

/// A regular expression with more states than its machine remembers, over a text as long as the bound allows.
#[divan::bench]
fn the_longest_with_many_states(bencher: Bencher<'_, '_>) {
    // Letters in no order, by a generator of Knuth's.
    let mut state = 1_u32;
    let text: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    })
    .take(19_000)
    .collect();
    let body = Body::whole(Bytes::from(format!("{{\"a\": \"{text}\"}}")));
    let fields = "when: 'body.json.a.matches(\"a[ab]{500}c\")', on_error: skip, key: [header.x-tenant]";
    plan(bencher, fields, &body);
}

fn plan(bencher: Bencher<'_, '_>, fields: &str, body: &Body) {
    let set = set(fields);
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_static("bench"));
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("x-tenant", HeaderValue::from_static("acme"));
    let request = Request {
        method: &Method::POST,
        version: Version::HTTP_11,
        host: "api.example.com",
        path: "/api/v1/orders",
        query: None,
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        tls: None,
        body,
    };
    bencher.bench_local(|| {
        let plan = set.plan(
            black_box(&request),
            &Identity::Anonymous,
            HoldId(1),
            Timestamp::EPOCH,
        );
        plan.charges.len() + plan.failures.len()
    });
}

fn set(fields: &str) -> PolicySet {
    let text = format!(
        "policies:\n  - {{ name: p, match: {{ path: /api/** }}, limit: {{ quota: 60, window: 1m }}, {fields} }}\n"
    );
    let file = PolicyFile {
        name: "bench.yaml",
        text: &text,
    };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => unreachable!("{problems}"),
    }
}
