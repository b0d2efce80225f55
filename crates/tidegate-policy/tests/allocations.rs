//! Planning a plain request allocates nothing, nor do expressions that make no texts.

mod common;

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{Body, Descriptor, DescriptorCall, Entry, Identity, Request};

#[test]
fn expressions_of_policies_that_do_not_match_cost_no_allocation() {
    let set = common::set(
        r#"
policies:
  - name: computed
    match: { path: /api/v9/** }
    when: 'request.path.lowerAscii().startsWith("/api/") && body.json.user != "monitor"'
    key: ['request.headers["x-tenant"].lowerAscii()']
    cost: 'size(body.json.items)'
    limit: { quota: 9, window: 1s }
  - { name: plain, match: { path: /api/** }, key: [header.x-tenant], limit: { quota: 9, window: 1s } }
"#,
    );
    let allocations_at = |path| {
        let mut headers = HeaderMap::new();
        headers.insert("x-tenant", HeaderValue::from_static("acme"));
        let request = Request {
            path,
            ..plain_request(&headers)
        };
        let identity = Identity::Anonymous;
        let mut failed = 0;
        let seen = allocation_counter::measure(|| {
            let plan = set.plan(&request, &identity, HoldId(1), Timestamp::EPOCH);
            failed = plan.failures.len();
        });
        (seen.count_total, failed)
    };
    assert_eq!(allocations_at("/api/v1/orders"), (0, 0));
    // The measure sees what a policy that does match allocates.
    let (count, failed) = allocations_at("/api/v9/orders");
    assert!(count > 0 && failed == 1, "{count} {failed}");
}

#[test]
fn a_comparison_in_when_allocates_nothing() {
    let set = common::set(
        r#"
policies:
  - name: computed
    when: 'request.method == "GET" && "x-tenant" in request.headers'
    key: ['request.headers["x-tenant"]']
    cost: 'request.method == "POST" ? 5 : 1'
    limit: { quota: 9, window: 1s }
"#,
    );
    let mut headers = HeaderMap::new();
    headers.insert("x-tenant", HeaderValue::from_static("acme"));
    let request = plain_request(&headers);
    let identity = Identity::Anonymous;
    let mut charges = 0;
    let seen = allocation_counter::measure(|| {
        let plan = set.plan(&request, &identity, HoldId(1), Timestamp::EPOCH);
        charges = plan.charges.len();
    });
    assert_eq!(charges, 1);
    assert_eq!(seen.count_total, 0, "{seen:?}");
}

#[test]
fn planning_a_plain_request_allocates_nothing() {
    let policies: String = (0..100)
        .map(|number| {
            format!(
                "  - {{ name: p{number}, match: {{ method: GET, path: '/api/v{number}/{{id}}/**' }}, key: [identity, header.x-tenant, query.user, path.id], limits: [{{ quota: 9, window: 1s }}, {{ quota: 9, window: 1m }}] }}\n"
            )
        })
        .collect();
    let set = common::set(&format!("policies:\n{policies}"));
    let mut headers = HeaderMap::new();
    headers.insert("x-tenant", HeaderValue::from_static("acme"));
    headers.insert("cookie", HeaderValue::from_static("a=b"));
    let request = plain_request(&headers);
    let identity = Identity::of_api_key("ann", Some("pro".into()));
    let mut charges = 0;
    let seen = allocation_counter::measure(|| {
        charges = set
            .plan(&request, &identity, HoldId(1), Timestamp::EPOCH)
            .charges
            .len();
    });
    assert_eq!(charges, 2);
    assert_eq!(seen.count_total, 0, "{seen:?}");
}

fn plain_request(headers: &HeaderMap) -> Request<'_> {
    Request {
        method: &Method::GET,
        version: Version::HTTP_11,
        host: "api.example.com:8080",
        path: "/api/v77/42/a/b/c/d/e/f/g",
        query: Some("user=ann&page=2"),
        headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        tls: None,
        body: &Body::UNREAD,
    }
}

#[test]
fn a_call_of_the_rate_limit_service_allocates_nothing() {
    let set = common::set(
        r#"
policies:
  - { name: one, match: { domain: shop, descriptor: [{ a: 'x*y*' }, b] }, limit: { quota: 9, window: 1s } }
  - { name: two, match: { domain: shop, descriptor: [{ a: 'x*y*' }, b] }, key: descriptor.b, replaces: call, limit: { quota: 9, window: 1s } }
  - { name: call, match: { domain: shop }, when: 'descriptors[0].a == "xyz"', limit: { quota: 9, window: 1s } }
  - { name: user, match: { domain: shop, descriptor: [c] }, key: 'descriptor.c', limit: { quota: 9, window: 1s } }
"#,
    );
    let descriptor = |entries: &[(&'static str, &'static str)]| Descriptor {
        entries: entries.iter().map(|(key, value)| Entry { key, value }).collect(),
        hits: None,
        limit: None,
    };
    let descriptors = [descriptor(&[("a", "xyz"), ("b", "1")]), descriptor(&[("c", "2")])];
    let call = DescriptorCall {
        domain: "shop",
        descriptors: &descriptors,
        hits: None,
    };
    let mut charges = 0;
    let seen = allocation_counter::measure(|| {
        let planned = set.plan_descriptors(&call, HoldId(1), Timestamp::EPOCH);
        charges = planned.plan.charges.len();
    });
    assert_eq!((seen.count_total, charges), (0, 3));
}
