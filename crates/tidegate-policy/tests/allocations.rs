//! Planning a plain request allocates nothing.

mod common;

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderValue, Method};
use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{Body, Identity, Request};

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
    let request = Request {
        method: &Method::GET,
        host: "api.example.com:8080",
        path: "/api/v77/42/a/b/c/d/e/f/g",
        query: Some("user=ann&page=2"),
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        tls: None,
        body: &Body::UNREAD,
    };
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
