//! `docs/caddy.md`: the files of `examples/caddy`, and the real Caddy.

use tidegate_e2e::Proxy;

const PAGE: &str = include_str!("../../../docs/caddy.md");
const POLICIES: &str = include_str!("../../../examples/caddy/tidegate.yaml");
const CADDY: Proxy = Proxy {
    folder: "caddy",
    ports: &[8080, 8082, 9000],
    policies: "tidegate.yaml",
    command: "caddy run --config Caddyfile --adapter caddyfile",
    more: &[],
    ready: "serving initial configuration",
};

#[test]
fn the_page_is_followed_from_nothing_to_a_429_and_with_tidegate_stopped() {
    assert!(PAGE.contains(POLICIES.split_once('\n').unwrap().1.trim_end()));
    CADDY.start().follow(PAGE);
}

#[test]
fn the_client_sees_its_limits_on_both_kinds_of_responses() {
    let setup = CADDY.start();
    let passed = setup.get("/api/a", &[]);
    assert_eq!((passed.status, passed.number("x-ratelimit-remaining")), (200, 4));
    assert_eq!(passed.field("ratelimit"), Some(r#""api";r=4;t=12"#));
    assert_eq!(passed.field("retry-after"), None);
    for _ in 0..4 {
        setup.get("/api/a", &[]);
    }
    let refused = setup.get("/api/a", &[]);
    assert_eq!((refused.status, refused.number("x-ratelimit-limit")), (429, 5));
    assert!((1..=12).contains(&refused.number("retry-after")));
    assert!(refused.body.contains(r#""error":"rate_limit_exceeded""#));
    let elsewhere = setup.get("/elsewhere", &[]);
    assert_eq!((elsewhere.status, elsewhere.field("ratelimit")), (200, None));
    let free = setup.get("/static/a", &[]);
    assert_eq!((free.status, &*free.body), (200, "GET /static/a  verdict="));
}

#[test]
fn nothing_that_a_client_writes_dodges_its_limit_or_reaches_the_application_as_ours() {
    let setup = CADDY.start();
    let lies = [
        "x-original-uri: /free",
        "x-forwarded-uri: /free",
        "x-forwarded-method: OPTIONS",
        "x-forwarded-host: other",
        "x-real-ip: 198.51.100.2",
        "x-tidegate-verdict: forged",
        "x-tidegate-subject: forged",
    ];
    let fields: Vec<&str> = lies.iter().flat_map(|lie| ["-H", lie]).collect();
    let first = setup.get("/api/a", &fields);
    assert_eq!(first.body, "GET /api/a  verdict=pass");
    // Each time another client, if that were believed.
    let statuses = [1, 2, 3, 4, 5].map(|number| {
        let forged = format!("x-forwarded-for: 203.0.113.{number}");
        let fields = [&fields[..], &["-H", forged.as_str()]].concat();
        setup.get("/api/%61", &fields).status
    });
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
}

#[test]
fn a_request_that_tidegate_cannot_read_does_not_open_the_door() {
    let setup = CADDY.start();
    let many: Vec<String> = (0..150).map(|number| format!("-Hx-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(setup.get("/api/a", &many).status, 431);
    let long = format!("-Hx-long: {}", "a".repeat(7000));
    assert_eq!(setup.get("/api/a", &[long.as_str(); 5]).status, 431);
    assert_eq!(setup.get("/api/a", &[]).number("x-ratelimit-remaining"), 4);
}

#[test]
fn while_tidegate_is_stopped_each_route_goes_its_own_way() {
    let mut setup = CADDY.start();
    assert_eq!(setup.get("/login", &["-d", "user=zoe"]).status, 200);
    setup.stop_tidegate();
    let open = setup.get("/api/a", &["-d", "a=b", "-H", "x-tidegate-verdict: forged"]);
    assert_eq!(open.body, "POST /api/a a=b verdict=");
    assert_eq!(open.field("x-tidegate-failure"), Some("unreachable"));
    let closed = setup.get("/login", &["-d", "user=zoe"]);
    assert_eq!((closed.status, closed.number("retry-after")), (503, 5));
    setup.start_tidegate();
    assert_eq!(setup.get("/api/a", &[]).number("x-ratelimit-remaining"), 4);
}
