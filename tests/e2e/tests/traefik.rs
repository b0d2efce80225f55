//! `docs/traefik.md`: the files of `examples/traefik`, and the real Traefik.

use tidegate_e2e::{Beside, Proxy, until};

const PAGE: &str = include_str!("../../../docs/traefik.md");
const POLICIES: &str = include_str!("../../../examples/traefik/tidegate.yaml");
const TRAEFIK: Proxy = Proxy {
    folder: "traefik",
    ports: &[8080, 8082, 9000],
    policies: "tidegate.yaml",
    command: "traefik --configfile traefik.yaml",
    more: &[],
    ready: "Starting provider *file.Provider",
};

fn start() -> Beside {
    let setup = TRAEFIK.start();
    // It listens before it knows where requests go.
    until("it has read its routes", || {
        (setup.get("/static/", &[]).status == 200).then_some(())
    });
    setup
}

#[test]
fn the_page_is_followed_from_nothing_to_a_429_and_with_tidegate_stopped() {
    assert!(PAGE.contains(POLICIES.split_once('\n').unwrap().1.trim_end()));
    start().follow(PAGE);
}

#[test]
fn the_client_sees_its_limits_when_it_is_refused() {
    let setup = start();
    for _ in 0..5 {
        let passed = setup.get("/api/a", &[]);
        assert_eq!((passed.status, passed.field("ratelimit")), (200, None));
    }
    let refused = setup.get("/api/a", &[]);
    assert_eq!((refused.status, refused.number("x-ratelimit-limit")), (429, 5));
    assert_eq!(refused.number("x-ratelimit-remaining"), 0);
    assert!((1..=12).contains(&refused.number("retry-after")));
    assert!(refused.field("ratelimit").unwrap().starts_with(r#""api";r=0"#));
    assert_eq!(refused.field("content-type"), Some("application/json"));
    assert!(refused.body.contains(r#""error":"rate_limit_exceeded""#));
    assert_eq!(setup.get("/elsewhere", &[]).status, 200);
}

#[test]
fn nothing_that_a_client_writes_dodges_its_limit_or_reaches_the_application_as_ours() {
    let setup = start();
    let lies = [
        "x-original-uri: /free",
        "x-forwarded-uri: /free",
        "x-forwarded-method: OPTIONS",
        "x-forwarded-host: other",
        "x-real-ip: 198.51.100.2",
        "x-tidegate-verdict: forged",
        "x_tidegate_verdict: forged",
    ];
    let fields: Vec<&str> = lies.iter().flat_map(|lie| ["-H", lie]).collect();
    let first = setup.get("/api/a", &fields);
    assert_eq!(first.body, "GET /api/a  verdict=pass\n");
    // Each time another client, if that were believed.
    let statuses = [1, 2, 3, 4, 5].map(|number| {
        let forged = format!("x-forwarded-for: 203.0.113.{number}");
        let fields = [&fields[..], &["-H", forged.as_str()]].concat();
        setup.get("//api/%61", &fields).status
    });
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
    // Not asked about, and still not believed.
    assert_eq!(setup.get("/static/a", &fields).body, "GET /static/a  verdict=\n");
}

#[test]
fn bodies_are_looked_at_where_the_router_sends_them() {
    let setup = start();
    let first = setup.get("/login", &["-d", "user=zoe"]);
    assert_eq!(first.body, "POST /login user=zoe verdict=pass\n");
    let long = format!("user=zoe&more={}", "a".repeat(20_000));
    assert_eq!(setup.get("/login", &["-d", &long]).status, 401);
    let statuses = [(); 3].map(|()| setup.get("/login", &["-d", "user=zoe"]).status);
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn a_request_that_tidegate_cannot_read_does_not_open_the_door() {
    let setup = start();
    let many: Vec<String> = (0..150).map(|number| format!("-Hx-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(setup.get("/api/a", &many).status, 431);
    let long = format!("-Hx-long: {}", "a".repeat(7000));
    assert_eq!(setup.get("/api/a", &[long.as_str(); 5]).status, 431);
}

#[test]
fn while_tidegate_is_stopped_nobody_gets_in() {
    let mut setup = start();
    assert_eq!(setup.get("/api/a", &[]).status, 200);
    setup.stop_tidegate();
    assert_eq!(setup.get("/api/a", &[]).status, 500);
    assert_eq!(setup.get("/static/a", &[]).status, 200);
    setup.start_tidegate();
    assert_eq!(setup.get("/api/a", &[]).status, 200);
}
