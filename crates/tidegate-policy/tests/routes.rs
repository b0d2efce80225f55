//! Which route a request takes.
#![allow(clippy::unwrap_used, reason = "test support")]

use http::{HeaderMap, Method, Version};
use tidegate_core::KeyHasher;
use tidegate_policy::{Body, Choice, Forwarding, HostRewrite, PolicyFile, Request, compile};

const FILE: &str = r#"
gateway: { upstream: rest }
upstreams:
  rest: { servers: [http://127.0.0.1:1] }
  app: { servers: [http://127.0.0.1:2, { url: "https://a.test", weight: 3 }] }
  admin: { servers: ["unix:/run/admin.sock"] }
routes:
  - { match: { path: /admin/** }, upstream: admin, host: upstream }
  - { match: { method: POST, path: [/api/**, /v1/*] }, upstream: app }
  - { match: { host: "*.b.test", headers: { x-beta: { present: true } } }, upstream: http://127.0.0.1:4, host: c.test }
policies: []
"#;

fn forwarding(text: &str) -> Forwarding {
    let file = PolicyFile { name: "a.yaml", text };
    compile(file, &KeyHasher::new([0; 16])).unwrap().config.forwarding
}

fn chosen(forwarding: &Forwarding, method: Method, host: &str, path: &str, headers: &HeaderMap) -> String {
    let request = Request {
        method: &method,
        version: Version::HTTP_11,
        host,
        path,
        query: None,
        headers,
        client: std::net::Ipv4Addr::LOCALHOST.into(),
        tls: None,
        body: &Body::UNREAD,
    };
    match forwarding.routes.choose(&request) {
        Choice::Route(route) => forwarding.upstreams[route.upstream].name.to_string(),
        Choice::Rest => "rest".to_owned(),
        Choice::Ambiguous => "ambiguous".to_owned(),
    }
}

#[test]
fn the_first_route_that_matches_counts_and_the_rest_goes_to_the_default() {
    let forwarding = forwarding(FILE);
    let none = HeaderMap::new();
    let to = |method, path| chosen(&forwarding, method, "a.test", path, &none);
    assert_eq!(to(Method::GET, "/admin"), "admin");
    assert_eq!(to(Method::POST, "/admin/api/x"), "admin");
    assert_eq!(to(Method::POST, "/api/x"), "app");
    assert_eq!(to(Method::POST, "/v1/x"), "app");
    assert_eq!(to(Method::POST, "/v1/x/y"), "rest");
    assert_eq!(to(Method::GET, "/api/x"), "rest");
    assert_eq!(
        forwarding.default_upstream().unwrap().to_string(),
        "rest (http://127.0.0.1:1)"
    );
}

#[test]
fn a_route_looks_at_hosts_and_fields_and_may_be_written_with_a_url() {
    let forwarding = forwarding(FILE);
    let beta: HeaderMap = [("x-beta".parse().unwrap(), "1".parse().unwrap())]
        .into_iter()
        .collect();
    let none = HeaderMap::new();
    let to = |host, headers: &HeaderMap| chosen(&forwarding, Method::GET, host, "/", headers);
    assert_eq!(to("A.B.test:80", &beta), "http://127.0.0.1:4");
    assert_eq!(to("a.b.test", &none), "rest");
    assert_eq!(to("b.test", &beta), "rest");
    let hosts: Vec<_> = forwarding.routes.iter().map(|route| route.host.clone()).collect();
    let other = HostRewrite::To("c.test".parse().unwrap());
    assert_eq!(hosts, [HostRewrite::Upstream, HostRewrite::Preserve, other]);
}

#[test]
fn no_spelling_of_a_path_dodges_its_route() {
    let forwarding = forwarding(FILE);
    let none = HeaderMap::new();
    for path in [
        "/%61dmin/x",
        "//admin/x",
        "/y/../admin/x",
        "/ADMIN/x",
        "/admin;a=b/x",
        "/x%2f..%2fadmin",
    ] {
        assert_eq!(
            chosen(&forwarding, Method::GET, "a.test", path, &none),
            "admin",
            "{path}"
        );
    }
    let many = format!("/%61{}", "/a".repeat(200));
    assert_eq!(
        chosen(&forwarding, Method::GET, "a.test", &many, &none),
        "ambiguous"
    );
}

#[test]
fn without_routes_no_path_is_ambiguous() {
    let forwarding = forwarding("gateway: { upstream: http://127.0.0.1:1 }\npolicies: []");
    let many = format!("/%61{}", "/a".repeat(200));
    assert_eq!(
        chosen(&forwarding, Method::GET, "a", &many, &HeaderMap::new()),
        "rest"
    );
}

#[test]
fn what_is_not_said_of_an_upstream_has_a_default() {
    let forwarding = forwarding(
        "upstreams: { a: { servers: http://a, health: { path: /h } } }\nroutes: [{ match: {}, upstream: a }]\npolicies: []",
    );
    let upstream = &forwarding.upstreams[0];
    assert_eq!(forwarding.default, None);
    assert_eq!((upstream.retries, upstream.servers[0].weight.get()), (1, 1));
    let ejection = upstream.ejection.unwrap();
    assert_eq!((ejection.failures, ejection.pause.as_secs()), (5, 10));
    let health = upstream.health.as_ref().unwrap();
    assert_eq!((health.every.as_secs(), health.timeout.as_secs()), (5, 1));
    assert_eq!((health.healthy_after, health.unhealthy_after), (2, 3));
    assert_eq!(health.expect, [http::StatusCode::OK]);
}
