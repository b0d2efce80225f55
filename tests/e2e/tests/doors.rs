//! Proxies ask beside the gateway.

use tidegate_e2e::{Gateway, Reply, curl};

const TWO: &str = "
doors: { check: 0 }
policies:
  - { name: two, match: { path: /api/** }, key: [client.ip], limit: { quota: 1, window: 1h, burst: 2 } }
";

fn ask(doors: &Gateway, path: &str, fields: &[&str]) -> Reply {
    let url = doors.url(path);
    let mut arguments = vec![url.as_str()];
    for field in fields {
        arguments.extend(["-H", field]);
    }
    curl(&arguments)
}

#[test]
fn a_sub_request_is_decided_like_the_request_that_it_describes() {
    let doors = Gateway::doors(TWO);
    let asked = |path: &str, kind: &str, uri: &str| {
        let (method, uri) = (format!("x-{kind}-method: POST"), format!("x-{kind}-uri: {uri}"));
        ask(&doors, path, &[&method, &uri, "x-forwarded-for: 203.0.113.5"])
    };
    let first = asked("/forward-auth", "forwarded", "/api/a?b=c");
    assert_eq!((first.status, first.number("x-ratelimit-remaining")), (200, 1));
    let second = asked("/auth-request", "original", "/api/b");
    assert_eq!((second.status, second.number("x-ratelimit-remaining")), (200, 0));
    let native = asked("/forward-auth", "forwarded", "/api/c");
    assert_eq!(native.status, 429);
    assert!(native.number("retry-after") > 3500);
    let disguised = asked("/auth-request", "original", "/api/d");
    assert_eq!(
        (disguised.status, disguised.number("x-tidegate-status")),
        (403, 429)
    );
    assert_eq!(asked("/auth-request", "original", "/free").status, 200);
}

#[test]
fn what_a_client_wrote_where_its_proxy_writes_nothing_is_not_looked_at() {
    let doors = Gateway::doors(TWO);
    let described = ["x-original-method: GET", "x-original-uri: /api/a"];
    let lies = [
        "x-forwarded-uri: /free",
        "x-forwarded-method: GET",
        "x-real-ip: 198.51.100.1",
    ];
    let fields = [
        &described[..],
        &lies,
        &["x-forwarded-for: 198.51.100.1, 203.0.113.5"],
    ]
    .concat();
    let statuses = [(); 3].map(|()| ask(&doors, "/auth-request", &fields).status);
    assert_eq!(statuses, [200, 200, 403]);
    let honest = [&described[..], &["x-forwarded-for: 203.0.113.5"]].concat();
    assert_eq!(ask(&doors, "/auth-request", &honest).status, 403);
}

#[test]
fn a_sub_request_that_describes_nothing_is_told_what_is_missing() {
    let doors = Gateway::doors(TWO);
    for (path, fields, status, error) in [
        ("/elsewhere", &[][..], 404, "unknown_check"),
        (
            "/forward-auth",
            &["x-forwarded-method: GET", "x-forwarded-uri: /"],
            400,
            "client_not_named",
        ),
        (
            "/forward-auth",
            &["x-forwarded-for: 192.0.2.1", "x-forwarded-uri: /"],
            400,
            "method_not_named",
        ),
        (
            "/forward-auth",
            &["x-forwarded-for: 192.0.2.1", "x-forwarded-method: GET"],
            400,
            "target_not_named",
        ),
        (
            "/auth-request",
            &[
                "x-forwarded-for: 192.0.2.1",
                "x-original-method: GET",
                "x-original-uri: /a",
                "x-original-uri: /b",
            ],
            400,
            "described_twice",
        ),
    ] {
        let reply = ask(&doors, path, fields);
        assert_eq!(reply.status, status, "{path} {fields:?}");
        assert!(
            reply.body.contains(&format!(r#""error":"{error}""#)),
            "{}",
            reply.body
        );
    }
}
