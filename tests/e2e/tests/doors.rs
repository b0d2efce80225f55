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

/// What Traefik's `ForwardAuth` sends: the client's fields but for those of one hop, and its own in place of the client's.
const TRAEFIK: [&str; 9] = [
    "x-forwarded-for: 203.0.113.5",
    "x-forwarded-host: shop.example",
    "x-forwarded-method: POST",
    "x-forwarded-port: 80",
    "x-forwarded-proto: http",
    "x-forwarded-server: traefik",
    "x-forwarded-uri: /api/a?b=%20c",
    "x-real-ip: 203.0.113.5",
    "x-original-uri: /free",
];

/// What APISIX's `forward-auth` sends: fields that it is told to, and its own.
const APISIX: [&str; 6] = [
    "x-forwarded-proto: http",
    "x-forwarded-method: POST",
    "x-forwarded-host: shop.example",
    "x-forwarded-uri: /api/a?b=%20c",
    "x-forwarded-for: 203.0.113.5",
    "x-api-key: something",
];

#[test]
fn traefik_and_apisix_get_what_they_hand_on() {
    for fields in [&TRAEFIK[..], &APISIX] {
        let doors = Gateway::doors(TWO);
        for left in [1, 0] {
            let passed = ask(&doors, "/forward-auth", fields);
            assert_eq!(
                (passed.status, passed.number("x-tidegate-remaining")),
                (200, left)
            );
            assert_eq!(passed.field("x-tidegate-verdict"), Some("pass"));
        }
        let refused = ask(&doors, "/forward-auth", fields);
        assert_eq!(
            (refused.status, refused.number("x-ratelimit-remaining")),
            (429, 0)
        );
        assert!(refused.number("retry-after") > 3500);
        assert!(refused.field("ratelimit-policy").is_some());
        assert!(refused.body.contains("rate_limit_exceeded"), "{}", refused.body);
        assert_eq!(
            (refused.field("location"), refused.field("x-tidegate-status")),
            (None, None)
        );
    }
}

const ACCOUNT: &str = "
doors: { check: 0 }
policies:
  - name: account
    match: { path: /login }
    key: [body.form.user]
    body: { max_bytes: 1KiB }
    limit: { quota: 1, window: 1h }
";

#[test]
fn policies_look_at_a_body_that_a_proxy_sends_along() {
    let doors = Gateway::doors(ACCOUNT);
    let url = doors.url("/forward-auth");
    let login = |body: &str| {
        let fields = [
            "-Hx-forwarded-method: POST",
            "-Hx-forwarded-uri: /login",
            "-Hx-forwarded-for: 203.0.113.5",
        ];
        curl(&[&[url.as_str(), "--data-binary", body], &fields[..]].concat()).status
    };
    assert_eq!(
        [login("user=zoe"), login("user=zoe"), login("user=kim")],
        [200, 429, 200]
    );
    let long = format!("user=eve&more={}", "a".repeat(2000));
    assert_eq!(login(&long), 413);
    // nginx sends none, and `on_missing` says what then.
    let nginx = [
        "x-original-method: POST",
        "x-original-uri: /login",
        "x-forwarded-for: 203.0.113.5",
    ];
    let unseen = ask(&doors, "/auth-request", &nginx);
    assert_eq!((unseen.status, unseen.number("x-tidegate-status")), (403, 400));
    assert!(unseen.body.contains("missing_key_part"), "{}", unseen.body);
}

#[test]
fn a_request_that_no_gateway_takes_may_not_pass_and_is_no_failure() {
    let doors = Gateway::doors(TWO);
    for (uri, host, error) in [
        ("/api/<a>", "shop.example", "bad_target"),
        ("api", "shop.example", "bad_target"),
        ("/api/a", "a b", "bad_host"),
    ] {
        let (uri, host) = (
            format!("x-original-uri: {uri}"),
            format!("x-original-host: {host}"),
        );
        let fields = [
            "x-original-method: GET",
            &uri,
            &host,
            "x-forwarded-for: 192.0.2.1",
        ];
        let reply = ask(&doors, "/auth-request", &fields);
        assert_eq!(
            (reply.status, reply.number("x-tidegate-status")),
            (403, 400),
            "{uri}"
        );
        assert!(reply.body.contains(error), "{uri}: {}", reply.body);
    }
}

const UNSURE: &str = "
doors: { check: 0 }
policies:
  - name: busy
    match: { path: /busy }
    key: [client.ip]
    limit: { quota: 1, window: 1h }
    reject: { status: 503 }
";

#[test]
fn envoy_takes_5xx_for_a_failure_so_that_no_decision_is_one() {
    let doors = Gateway::doors(UNSURE);
    let asked = || ask(&doors, "/ext-authz/busy?a=b", &["x-forwarded-for: 192.0.2.1"]);
    assert_eq!(asked().status, 200);
    let refused = asked();
    assert_eq!((refused.status, refused.number("x-tidegate-status")), (403, 503));
    assert_eq!(ask(&doors, "/ext-authz", &[]).status, 404);
    assert_eq!(ask(&doors, "/ext-authz/busy", &[]).status, 400);
}
