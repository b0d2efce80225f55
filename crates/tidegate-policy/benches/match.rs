//! What a plan costs with 1 to 1,000 policies in the set: `cargo bench -p tidegate-policy --bench match`.
//!
//! divan, because it takes arguments by name and needs no files of its own.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use divan::Bencher;
use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, KeyHasher, Timestamp};
use tidegate_policy::{Body, Identity, PolicyFile, PolicySet, Request, compile};

const SIZES: [usize; 4] = [1, 10, 100, 1000];

fn main() {
    divan::main();
}

/// Each policy has a path of its own: one of them matches.
#[divan::bench(args = SIZES)]
fn one_of_many_paths(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("path: /api/resource{number}/**"));
    let path = format!("/api/resource{}/42", policies / 2);
    plan(bencher, &set, "a.example.com", &path);
}

/// Each policy has a path of its own, and none matches.
#[divan::bench(args = SIZES)]
fn none_of_many_paths(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("path: /api/resource{number}/**"));
    plan(bencher, &set, "a.example.com", "/static/app.css");
}

/// Each policy has a host of its own: one of them matches.
#[divan::bench(args = SIZES)]
fn one_of_many_hosts(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("host: tenant{number}.example.com"));
    plan(
        bencher,
        &set,
        &format!("tenant{}.example.com", policies / 2),
        "/api/orders/42",
    );
}

/// As many paths, and one that can be read in several ways.
#[divan::bench(args = SIZES)]
fn a_disguised_path(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("path: /api/resource{number}/**"));
    let path = format!("/api/x/../%72esource{}/42", policies / 2);
    plan(bencher, &set, "a.example.com", &path);
}

/// As many paths, and one with a blank, as files have.
#[divan::bench(args = SIZES)]
fn a_path_with_a_blank(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("path: /api/resource{number}/**"));
    let path = format!("/api/resource{}/my%20file", policies / 2);
    plan(bencher, &set, "a.example.com", &path);
}

/// As many paths, and one that takes the longest to read: any longer, and it is refused.
#[divan::bench(args = SIZES)]
fn the_worst_path(bencher: Bencher<'_, '_>, policies: usize) {
    let set = set(policies, |number| format!("path: /api/resource{number}/**"));
    let path = "/%61;b/..".repeat(64);
    plan(bencher, &set, "a.example.com", &path);
}

fn set(policies: usize, matching: impl Fn(usize) -> String) -> PolicySet {
    let policy = |number| {
        let matching = matching(number);
        format!(
            "  - {{ name: p{number}, match: {{ {matching} }}, key: [client.ip], limit: {{ quota: 60, window: 1m }} }}\n"
        )
    };
    let text = format!("policies:\n{}", (0..policies).map(policy).collect::<String>());
    let file = PolicyFile {
        name: "bench.yaml",
        text: &text,
    };
    match compile(file, &KeyHasher::new([7; 16])) {
        Ok(compiled) => compiled.config.policies,
        Err(problems) => unreachable!("{problems}"),
    }
}

fn plan(bencher: Bencher<'_, '_>, set: &PolicySet, host: &str, path: &str) {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_static("bench"));
    let request = Request {
        method: &Method::GET,
        version: Version::HTTP_11,
        host,
        path,
        query: None,
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        tls: None,
        body: &Body::UNREAD,
    };
    bencher.bench_local(|| {
        set.plan(
            black_box(&request),
            &Identity::Anonymous,
            HoldId(1),
            Timestamp::EPOCH,
        )
        .charges
        .len()
    });
}
