//! What it costs to look at a body: `cargo bench -p tidegate-policy --bench body`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use divan::Bencher;
use divan::counter::BytesCount;
use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, PolicyFile, PolicySet, Request, compile};

const SIZES: [usize; 2] = [1024, 64 * 1024];

fn main() {
    divan::main();
}

/// The same policy without a look at the body.
#[divan::bench(args = SIZES)]
fn none(bencher: Bencher<'_, '_>, bytes: usize) {
    plan(bencher, "client.ip", "application/json", json(bytes));
}

/// A name of an object that is large.
#[divan::bench(args = SIZES)]
fn json_name(bencher: Bencher<'_, '_>, bytes: usize) {
    plan(bencher, "body.json.username", "application/json", json(bytes));
}

/// The same by an expression, for which the whole body is kept.
#[divan::bench(args = SIZES)]
fn json_in_an_expression(bencher: Bencher<'_, '_>, bytes: usize) {
    plan(
        bencher,
        "'string(body.json.username)'",
        "application/json",
        json(bytes),
    );
}

/// A field of a form that is large.
#[divan::bench(args = SIZES)]
fn form_field(bencher: Bencher<'_, '_>, bytes: usize) {
    let form = "some-name=some+value%21&".repeat(bytes / 24) + "username=ann";
    plan(
        bencher,
        "body.form.username",
        "application/x-www-form-urlencoded",
        form,
    );
}

/// The operation of a document that is large.
#[divan::bench(args = SIZES)]
fn graphql_operation(bencher: Bencher<'_, '_>, bytes: usize) {
    let fields = "field(of: 1) { id name } ".repeat(bytes / 26);
    let body = format!(r#"{{"query":"query Orders {{ {fields} }}"}}"#);
    plan(bencher, "body.graphql.operation", "application/json", body);
}

/// Members such as APIs have, with the wanted one at the end.
fn json(bytes: usize) -> String {
    let member = |number: usize| {
        format!(r#""member{number:04}":{{"id":{number},"name":"some text","tags":["a","b"]}},"#)
    };
    let members: String = (0..bytes / 64).map(member).collect();
    format!(r#"{{{members}"username":"ann"}}"#)
}

fn plan(bencher: Bencher<'_, '_>, key: &str, media: &'static str, body: String) {
    let set = set(key);
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static(media));
    let bytes = Bytes::from(body);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        // As for each request: nothing is remembered of the body before.
        let body = Body::whole(black_box(&bytes).clone());
        let request = Request {
            method: &Method::POST,
            version: Version::HTTP_11,
            host: "a.example.com",
            path: "/login",
            query: None,
            headers: &headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tls: None,
            body: &body,
        };
        let plan = set.plan(
            &request,
            &Identity::Anonymous,
            HoldId(1),
            Timestamp::from_nanos(1),
        );
        assert_eq!(plan.charges.len(), 1);
    });
}

fn set(key: &str) -> PolicySet {
    let text = format!("policies:\n  - {{ name: a, key: [{key}], limit: {{ quota: 60, window: 1m }} }}\n");
    let file = PolicyFile {
        name: "bench.yaml",
        text: &text,
    };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => unreachable!("{problems}"),
    }
}
