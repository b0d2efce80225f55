//! Envoy asks: `docs/envoy.md` as it stands there, and what becomes of requests when nobody answers.

use std::process::Command;

use tidegate_e2e::{Envoy, Gateway, Nginx, blocks, curl, search_path, shown};

const PAGE: &str = include_str!("../../../docs/envoy.md");
const POLICIES: &str = include_str!("../../../examples/envoy/tidegate.yaml");
const REQUESTS: &str = include_str!("../../../examples/envoy/requests.yaml");
const AUTHORIZATION: &str = include_str!("../../../examples/envoy/ext_authz.yaml");
const RATE_LIMIT: &str = include_str!("../../../examples/envoy/ratelimit.yaml");

/// Tidegate, Envoy and an origin, with ports of their own.
struct Shop {
    gateway: Gateway,
    envoy: Envoy,
    _origin: Nginx,
}

impl Shop {
    /// With `policies` at the door, and this configuration of Envoy.
    fn open(policies: &str, configuration: &str) -> Self {
        let origin = Nginx::start();
        let gateway = Gateway::doors(&replaced(policies, "envoy: 127.0.0.1:8081", "envoy: 0"));
        let (_, origin_port) = origin
            .url()
            .rsplit_once(':')
            .map(|(host, port)| (host.to_owned(), port.to_owned()))
            .unwrap();
        let configuration = replaced(
            configuration,
            "port_value: 8081",
            &format!("port_value: {}", gateway.address().port()),
        );
        let configuration = replaced(
            &configuration,
            "port_value: 9000",
            &format!("port_value: {origin_port}"),
        );
        // Patient, so that a busy machine decides nothing.
        let configuration = configuration.replace("timeout: 0.1s", "timeout: 20s");
        Self {
            envoy: Envoy::start(&configuration),
            gateway,
            _origin: origin,
        }
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// The part of the page under this heading.
fn section(heading: &str) -> &'static str {
    let sections = PAGE.split("\n## ");
    let mut found = sections.filter(|section| section.starts_with(heading));
    found
        .next()
        .unwrap_or_else(|| panic!("no part is called {heading}"))
}

/// The files that each of these parts shows: policies first, then what makes Envoy ask.
const PARTS: [(&str, &str, &str); 2] = [
    ("From nothing to a 429\n", POLICIES, RATE_LIMIT),
    ("The same with external authorization\n", REQUESTS, AUTHORIZATION),
];

#[test]
fn the_page_shows_the_files_that_are_there() {
    for (heading, policies, configuration) in PARTS {
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
    for (heading, policies, configuration) in PARTS {
        let shop = Shop::open(policies, configuration);
        let address = shop.envoy.address().to_string();
        let commands = shown(section(heading));
        let commands: Vec<_> = commands
            .iter()
            .filter(|shown| shown.command.contains("10000"))
            .collect();
        assert!(commands.len() >= 3);
        for shown in commands {
            let output = Command::new("bash")
                .args(["-c", &shown.command.replace("127.0.0.1:10000", &address)])
                .env("PATH", search_path())
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert_eq!(printed.trim_end(), shown.prints, "$ {}", shown.command);
        }
    }
}

#[test]
fn clients_see_their_limits_on_every_answer() {
    let shop = Shop::open(POLICIES, RATE_LIMIT);
    let first = curl(&[&shop.envoy.url("/search")]);
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
    curl(&[&shop.envoy.url("/search")]);
    let refused = curl(&[&shop.envoy.url("/search")]);
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
    let other = curl(&[&shop.envoy.url("/")]);
    assert_eq!((other.status, other.number("x-ratelimit-remaining")), (200, 97));
}

#[test]
fn the_origin_and_the_client_of_an_authorized_request_are_told() {
    let shop = Shop::open(REQUESTS, AUTHORIZATION);
    let asked = |more: &[&str]| curl(&[&[shop.envoy.url("/search").as_str()], more].concat());
    let told = curl(&[
        &shop.envoy.url("/told"),
        "-H",
        "x-tidegate-tier: gold",
        "-H",
        "x-tidegate-verdict: shadow",
    ]);
    assert!(
        told.body.contains("\nverdict=pass\nsubject=\ntier=\n"),
        "{}",
        told.body
    );
    let first = asked(&[]);
    assert_eq!(first.status, 200);
    assert_eq!(
        (
            first.number("x-ratelimit-limit"),
            first.number("x-ratelimit-remaining")
        ),
        (2, 1)
    );
    assert!(first.field("ratelimit").unwrap().starts_with("\"search\";r=1;"));
    asked(&[]);
    let refused = asked(&[]);
    assert_eq!(refused.status, 429);
    assert!((1..=30).contains(&refused.number("retry-after")));
    assert_eq!(refused.field("content-type"), Some("application/json"));
    assert!(
        refused.body.contains("\"error\":\"rate_limit_exceeded\""),
        "{}",
        refused.body
    );
    let call = asked(&[
        "-X",
        "POST",
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
    ]);
    assert_eq!((call.status, call.number("grpc-status")), (200, 8), "{call:?}");
}

#[test]
fn when_nobody_answers_envoy_does_what_it_is_told() {
    let denies = "failure_mode_deny: false";
    let allows = "failure_mode_allow: true";
    for (policies, configuration, from, to, status) in [
        (POLICIES, RATE_LIMIT, denies, denies, 200),
        (POLICIES, RATE_LIMIT, denies, "failure_mode_deny: true", 500),
        (REQUESTS, AUTHORIZATION, allows, allows, 200),
        (REQUESTS, AUTHORIZATION, allows, "failure_mode_allow: false", 403),
    ] {
        let mut shop = Shop::open(policies, &replaced(configuration, from, to));
        assert_eq!(curl(&[&shop.envoy.url("/")]).status, 200);
        shop.gateway.process().kill();
        assert_eq!(curl(&[&shop.envoy.url("/")]).status, status, "{to}");
    }
}
