//! `docs/nginx.md`: the files of `examples/nginx`, and the real nginx.

use std::process::Command;

use tidegate_e2e::{Beside, Example, Proxy};

const PAGE: &str = include_str!("../../../docs/nginx.md");
const POLICIES: &str = include_str!("../../../examples/nginx/tidegate.yaml");
const NGINX: Proxy = Proxy {
    folder: "nginx",
    ports: &[8080, 8082, 9000],
    policies: "tidegate.yaml",
    command: "nginx -p . -e stderr -c nginx.conf",
    more: &[],
    ready: "start worker process ",
};

/// Its workers could not read a test's folder.
fn as_root(example: &Example) {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if is_root {
        example.change("nginx.conf", "daemon off;", "daemon off;\nuser root;");
    }
}

fn start() -> Beside {
    NGINX.start_with(as_root)
}

#[test]
fn the_page_is_followed_from_nothing_to_a_429_and_with_tidegate_stopped() {
    assert!(PAGE.contains(POLICIES.split_once('\n').unwrap().1.trim_end()));
    start().follow(PAGE);
}

#[test]
fn the_client_sees_its_limits_on_both_kinds_of_responses() {
    let setup = start();
    let passed = setup.get("/api/a", &[]);
    assert_eq!((passed.status, passed.number("x-ratelimit-remaining")), (200, 4));
    assert_eq!(passed.field("retry-after"), None);
    assert_eq!(passed.field("ratelimit"), Some(r#""api";r=4;t=12"#));
    for _ in 0..4 {
        setup.get("/api/a", &[]);
    }
    let refused = setup.get("/api/a", &[]);
    assert_eq!((refused.status, refused.number("x-ratelimit-limit")), (429, 5));
    assert!((1..=12).contains(&refused.number("retry-after")));
    assert_eq!(refused.field("content-type"), Some("application/problem+json"));
    assert!(refused.field("ratelimit").unwrap().starts_with(r#""api";r=0"#));
    assert!(refused.number("x-ratelimit-reset") > 1_600_000_000);
    assert_eq!(refused.field("x-tidegate-status"), None);
    let elsewhere = setup.get("/static/a", &[]);
    assert_eq!((elsewhere.status, elsewhere.field("ratelimit")), (200, None));
}

#[test]
fn nothing_that_a_client_writes_dodges_its_limit_or_reaches_the_application_as_ours() {
    let setup = start();
    let lies = [
        "x-original-uri: /free",
        "x-original-method: OPTIONS",
        "x-original-host: other",
        "x-original-scheme: https",
        "x-forwarded-uri: /free",
        "x-real-ip: 198.51.100.2",
        "forwarded: for=198.51.100.3",
        "x-tidegate-status: 200",
        "x-tidegate-verdict: forged",
        "x-tidegate-subject: forged",
    ];
    let fields: Vec<&str> = lies.iter().flat_map(|lie| ["-H", lie]).collect();
    let first = setup.get("/api/a", &fields);
    assert_eq!(first.body, "GET /api/a verdict=pass subject=\n");
    // Each time another client, if that were believed.
    let statuses = [1, 2, 3, 4, 5].map(|number| {
        let forged = format!("x-forwarded-for: 203.0.113.{number}");
        let fields = [&fields[..], &["-H", forged.as_str()]].concat();
        setup.get("//api/%61", &fields).status
    });
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
    // Not asked about, and still not believed.
    let free = setup.get("/static/a", &fields);
    assert_eq!(free.body, "GET /static/a verdict= subject=\n");
}

#[test]
fn a_request_that_tidegate_cannot_read_does_not_open_the_door() {
    let setup = start();
    let many: Vec<String> = (0..150).map(|number| format!("-Hx-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(setup.get("/api/a", &many).status, 400);
    let long = format!("-Hx-long: {}", "a".repeat(7000));
    let long = [long.as_str(); 4];
    assert_eq!(
        setup.get("/api/a", &[&long[..], &many[..50]].concat()).status,
        400
    );
    // nginx takes these bytes in a target, and a URI has none of them.
    for target in ["/api/<a>", "/api/a^`"] {
        let asked = setup.get("/", &["--request-target", target]);
        assert_eq!(asked.status, 400, "{target}: {}", asked.body);
    }
    assert_eq!(setup.get("/api/a", &[]).number("x-ratelimit-remaining"), 4);
}

#[test]
fn what_the_application_answers_itself_is_left_alone() {
    let setup = start();
    let broken = setup.get("/api/broken", &[]);
    assert_eq!(
        (broken.status, &*broken.body),
        (500, "the application's own 500\n")
    );
    let forbidden = setup.get("/api/forbidden", &[]);
    assert_eq!(
        (forbidden.status, &*forbidden.body),
        (403, "the application's own 403\n")
    );
    let posted = setup.get("/api/a", &["-d", "a=b"]);
    assert_eq!(posted.body, "POST /api/a verdict=pass subject=\n");
}

#[test]
fn while_tidegate_is_stopped_each_location_goes_its_own_way() {
    let mut setup = start();
    for _ in 0..5 {
        setup.get("/api/a", &[]);
    }
    assert_eq!(setup.get("/api/a", &[]).status, 429);
    assert_eq!(setup.get("/login", &["-d", "user=zoe"]).status, 200);
    setup.stop_tidegate();
    let open = setup.get("/api/a", &["-d", "a=b", "-H", "x-tidegate-verdict: forged"]);
    assert_eq!(open.body, "POST /api/a verdict= subject=\n");
    assert_eq!(open.field("x-tidegate-failure"), Some("unreachable"));
    assert_eq!(open.field("ratelimit"), None);
    let closed = setup.get("/login", &["-d", "user=zoe"]);
    assert_eq!((closed.status, closed.number("retry-after")), (503, 5));
    setup.start_tidegate();
    assert_eq!(setup.get("/api/a", &[]).number("x-ratelimit-remaining"), 4);
}
