//! Envoy asks: `docs/envoy.md` as it stands there, and what becomes of requests when nobody answers.

use tidegate_e2e::{Beside, ENVOY_ARGUMENTS, Port, Proxy, blocks};

const PAGE: &str = include_str!("../../../docs/envoy.md");

const RATE_LIMIT: Proxy = Proxy {
    folder: "envoy",
    ports: &[10000, 8081, 9000],
    policies: "tidegate.yaml",
    command: "envoy --config-path ratelimit.yaml",
    more: ENVOY_ARGUMENTS,
    ready: "starting workers",
};

const AUTHORIZATION: Proxy = Proxy {
    policies: "requests.yaml",
    command: "envoy --config-path ext_authz.yaml",
    ..RATE_LIMIT
};

/// The parts of the page, and the files that each shows: policies first, then what makes Envoy ask.
const PARTS: [(&str, Proxy, &str, &str); 2] = [
    (
        "From nothing to a 429\n",
        RATE_LIMIT,
        include_str!("../../../examples/envoy/tidegate.yaml"),
        include_str!("../../../examples/envoy/ratelimit.yaml"),
    ),
    (
        "The same with external authorization\n",
        AUTHORIZATION,
        include_str!("../../../examples/envoy/requests.yaml"),
        include_str!("../../../examples/envoy/ext_authz.yaml"),
    ),
];

/// Starts it with some of its file written anew.
fn start_with(proxy: Proxy, changes: &[(&str, &str)]) -> Beside {
    let (_, file) = proxy.command.rsplit_once(' ').unwrap();
    proxy.start_with(|example| {
        // Patient, so that a busy machine decides nothing.
        for (old, new) in [&[("timeout: 0.1s", "timeout: 20s")], changes].concat() {
            example.change(file, old, new);
        }
    })
}

fn start(proxy: Proxy) -> Beside {
    start_with(proxy, &[])
}

/// The part of the page under this heading.
fn section(heading: &str) -> &'static str {
    let sections = PAGE.split("\n## ");
    let mut found = sections.filter(|section| section.starts_with(heading));
    found
        .next()
        .unwrap_or_else(|| panic!("no part is called {heading}"))
}

#[test]
fn the_page_shows_the_files_that_are_there() {
    for (heading, _, policies, configuration) in PARTS {
        let mut shown = blocks(section(heading), "yaml");
        assert_eq!(shown.next(), Some(policies));
        let configuration = without_indent(configuration);
        let mut parts = 0;
        for part in shown {
            assert!(configuration.contains(&without_indent(part)), "{part}");
            parts += 1;
        }
        assert!(parts > 0);
    }
}

fn without_indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim_start()))
        .collect()
}

#[test]
fn the_page_leads_to_a_429() {
    for (heading, proxy, ..) in PARTS {
        let text = section(heading);
        proxy.is_started_by(text);
        start(proxy).play(text);
    }
}

#[test]
fn clients_see_their_limits_on_every_answer() {
    let shop = start(RATE_LIMIT);
    let first = shop.get("/search", &[]);
    assert_eq!(first.status, 200);
    assert_eq!(
        (
            first.number("x-ratelimit-limit"),
            first.number("x-ratelimit-remaining")
        ),
        (2, 1)
    );
    assert!(
        first.field("ratelimit").unwrap().contains("\"per-client\";r=99;"),
        "{first:?}"
    );
    assert_eq!(first.field("retry-after"), None);
    shop.get("/search", &[]);
    let refused = shop.get("/search", &[]);
    assert_eq!(refused.status, 429);
    assert!((1..=30).contains(&refused.number("retry-after")));
    assert_eq!(refused.field("content-type"), Some("application/json"));
    assert_eq!(refused.field("x-envoy-ratelimited"), Some("true"));
    assert!(
        refused.body.contains("\"error\":\"rate_limit_exceeded\""),
        "{}",
        refused.body
    );
    assert!(
        refused.body.contains("\"violated-policies\":[\"search\"]"),
        "{}",
        refused.body
    );
    let other = shop.get("/", &[]);
    assert_eq!((other.status, other.number("x-ratelimit-remaining")), (200, 97));
}

#[test]
fn the_origin_and_the_client_of_an_authorized_request_are_told() {
    let shop = start(AUTHORIZATION);
    let lies = ["-H", "x-tidegate-tier: gold", "-H", "x-tidegate-verdict: shadow"];
    let told = shop.get("/told", &lies);
    assert_eq!(told.body, "GET /told verdict=pass subject=- tier=-\n");
    let first = shop.get("/search", &[]);
    assert_eq!(first.status, 200);
    assert_eq!(
        (
            first.number("x-ratelimit-limit"),
            first.number("x-ratelimit-remaining")
        ),
        (2, 1)
    );
    assert!(first.field("ratelimit").unwrap().starts_with("\"search\";r=1;"));
    shop.get("/search", &[]);
    let refused = shop.get("/search", &[]);
    assert_eq!(refused.status, 429);
    assert!((1..=30).contains(&refused.number("retry-after")));
    assert_eq!(refused.field("content-type"), Some("application/json"));
    assert!(
        refused.body.contains("\"error\":\"rate_limit_exceeded\""),
        "{}",
        refused.body
    );
    let grpc = [
        "-X",
        "POST",
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
    ];
    let call = shop.get("/search", &grpc);
    assert_eq!((call.status, call.number("grpc-status")), (200, 8), "{call:?}");
}

#[test]
fn when_nobody_answers_envoy_does_what_it_is_told() {
    let denies = ("failure_mode_deny: false", "failure_mode_deny: true");
    let closed = ("failure_mode_allow: true", "failure_mode_allow: false");
    let no_status = ("status_on_error: { code: 503 }", "");
    for (proxy, changes, status) in [
        (RATE_LIMIT, &[][..], 200),
        (RATE_LIMIT, &[denies], 503),
        (RATE_LIMIT, &[denies, no_status], 500),
        (AUTHORIZATION, &[], 200),
        (AUTHORIZATION, &[closed], 503),
        (AUTHORIZATION, &[closed, no_status], 403),
    ] {
        let mut shop = start_with(proxy, changes);
        assert_eq!(shop.get("/", &[]).status, 200);
        shop.stop_tidegate();
        let lie = ["-H", "x-tidegate-verdict: forged"];
        let reply = shop.get("/", &lie);
        assert_eq!(reply.status, status, "{changes:?}");
        assert!(
            proxy.policies != AUTHORIZATION.policies || !reply.body.contains("forged"),
            "{reply:?}"
        );
    }
}

/// A failure is an error of the call, and no answer: Envoy decides what becomes of the request.
#[test]
fn a_failing_store_is_to_envoy_what_it_says_of_errors() {
    let store = Port::claim();
    for (deny, status) in [("false", 200), ("true", 503)] {
        let shop = RATE_LIMIT.start_with(|example| {
            example.change(
                "tidegate.yaml",
                "doors:",
                &format!("store: redis://127.0.0.1:{}\ndoors:", store.number()),
            );
            example.change(
                "tidegate.yaml",
                "descriptor: [remote_address] }",
                "descriptor: [remote_address] }\n    on_store_failure: deny",
            );
            example.change(
                "ratelimit.yaml",
                "failure_mode_deny: false",
                &format!("failure_mode_deny: {deny}"),
            );
        });
        let reply = shop.get("/", &[]);
        assert_eq!(
            (reply.status, reply.field("x-envoy-ratelimited")),
            (status, None),
            "{deny}"
        );
    }
}
