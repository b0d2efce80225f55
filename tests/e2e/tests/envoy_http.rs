//! `docs/envoy-http.md`: the files of `examples/envoy-http`, and the real Envoy.

use tidegate_e2e::{ENVOY_ARGUMENTS, Proxy};

const PAGE: &str = include_str!("../../../docs/envoy-http.md");
const POLICIES: &str = include_str!("../../../examples/envoy-http/tidegate.yaml");
const ENVOY: Proxy = Proxy {
    folder: "envoy-http",
    ports: &[8080, 8082, 9000],
    policies: "tidegate.yaml",
    command: "envoy -c envoy.yaml",
    more: ENVOY_ARGUMENTS,
    ready: "starting workers",
};

#[test]
fn the_page_is_followed_from_nothing_to_a_429_and_with_tidegate_stopped() {
    assert!(PAGE.contains(POLICIES.split_once('\n').unwrap().1.trim_end()));
    ENVOY.start().follow(PAGE);
}

#[test]
fn the_client_sees_its_limits_on_both_kinds_of_responses() {
    let setup = ENVOY.start();
    let passed = setup.get("/api/a", &[]);
    assert_eq!((passed.status, passed.number("x-ratelimit-remaining")), (200, 4));
    assert_eq!(passed.field("ratelimit"), Some(r#""api";r=4;t=12"#));
    for _ in 0..4 {
        setup.get("/api/a", &[]);
    }
    let refused = setup.get("/api/a", &[]);
    assert_eq!((refused.status, refused.number("x-ratelimit-limit")), (429, 5));
    assert!((1..=12).contains(&refused.number("retry-after")));
    assert!(refused.body.contains(r#""error":"rate_limit_exceeded""#));
    let elsewhere = setup.get("/elsewhere?a=b", &[]);
    assert_eq!((elsewhere.status, elsewhere.field("ratelimit")), (200, None));
    let free = setup.get("/static/a", &[]);
    assert_eq!(
        (free.status, &*free.body),
        (200, "GET /static/a verdict=- subject=-\n")
    );
}

#[test]
fn nothing_that_a_client_writes_dodges_its_limit_or_reaches_the_application_as_ours() {
    let setup = ENVOY.start();
    let lies = [
        "x-original-uri: /free",
        "x-forwarded-uri: /free",
        "x-forwarded-method: OPTIONS",
        "x-forwarded-host: other",
        "x-envoy-original-path: /free",
        "x-tidegate-verdict: forged",
        "x-tidegate-subject: forged",
    ];
    let fields: Vec<&str> = lies.iter().flat_map(|lie| ["-H", lie]).collect();
    let first = setup.get("/api/a", &fields);
    assert_eq!(first.body, "GET /api/a verdict=pass subject=-\n");
    // Each time another client, if that were believed.
    let statuses = [1, 2, 3, 4, 5].map(|number| {
        let forged = format!("x-forwarded-for: 203.0.113.{number}");
        let fields = [&fields[..], &["-H", forged.as_str()]].concat();
        setup.get("/api/%61", &fields).status
    });
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
    assert_eq!(
        setup.get("/static/a", &fields).body,
        "GET /static/a verdict=- subject=-\n"
    );
}

#[test]
fn a_body_that_comes_in_part_is_one_that_is_too_large() {
    let setup = ENVOY.start_with(|example| {
        example.change(
            "tidegate.yaml",
            "key: [body.form.user]",
            "key: [body.form.user]\n    body: { max_bytes: 1MiB }",
        );
    });
    let long = format!("user=zoe&more={}", "a".repeat(80_000));
    assert_eq!(setup.get("/login", &["-d", &long]).status, 413);
    assert_eq!(
        setup
            .get("/login", &["-d", "user=zoe"])
            .number("x-ratelimit-remaining"),
        2
    );
}

#[test]
fn a_request_that_tidegate_cannot_read_does_not_open_the_door() {
    let setup = ENVOY.start();
    let many: Vec<String> = (0..90).map(|number| format!("-Hx-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!((400..500).contains(&setup.get("/api/a", &[&many[..], &many[..20]].concat()).status));
    let long = format!("-Hx-long: {}", "a".repeat(7000));
    assert_eq!(setup.get("/api/a", &[long.as_str(); 5]).status, 431);
}

#[test]
fn while_tidegate_is_stopped_requests_go_through_or_not_as_the_file_says() {
    let mut setup = ENVOY.start();
    setup.stop_tidegate();
    let open = setup.get("/api/a", &["-H", "x-tidegate-verdict: forged"]);
    assert_eq!(open.body, "GET /api/a verdict=- subject=-\n");
    assert_eq!(open.field("ratelimit"), None);
    let mut closed = ENVOY.start_with(|example| {
        example.change(
            "envoy.yaml",
            "failure_mode_allow: true",
            "failure_mode_allow: false",
        );
    });
    assert_eq!(closed.get("/api/a", &[]).status, 200);
    closed.stop_tidegate();
    assert_eq!(closed.get("/api/a", &[]).status, 503);
}
