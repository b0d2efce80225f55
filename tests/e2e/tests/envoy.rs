//! Envoy asks: `docs/envoy.md` as it stands there, and what becomes of requests when nobody answers.

use std::process::Command;

use tidegate_e2e::{Envoy, Gateway, Nginx, blocks, curl, search_path, shown};

const PAGE: &str = include_str!("../../../docs/envoy.md");
const POLICIES: &str = include_str!("../../../examples/envoy/tidegate.yaml");
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

#[test]
fn the_page_shows_the_files_that_are_there() {
    let policies = blocks(PAGE, "yaml").next().unwrap();
    assert_eq!(policies, POLICIES);
    let configuration = without_indent(RATE_LIMIT);
    let parts: Vec<_> = blocks(PAGE, "yaml").skip(1).take(2).collect();
    assert_eq!(parts.len(), 2);
    for part in parts {
        assert!(configuration.contains(&without_indent(part)), "{part}");
    }
}

fn without_indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim_start()))
        .collect()
}

#[test]
fn the_page_leads_to_a_429() {
    let shop = Shop::open(POLICIES, RATE_LIMIT);
    let address = shop.envoy.address().to_string();
    let commands = shown(PAGE);
    let commands = commands.iter().filter(|shown| shown.command.contains("10000"));
    let mut count = 0;
    for shown in commands {
        let output = Command::new("bash")
            .args(["-c", &shown.command.replace("127.0.0.1:10000", &address)])
            .env("PATH", search_path())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.trim_end(), shown.prints, "$ {}", shown.command);
        count += 1;
    }
    assert!(count >= 3);
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
fn when_nobody_answers_envoy_does_what_it_is_told() {
    for (deny, status) in [("false", 200), ("true", 500)] {
        let configuration = replaced(
            RATE_LIMIT,
            "failure_mode_deny: false",
            &format!("failure_mode_deny: {deny}"),
        );
        let mut shop = Shop::open(POLICIES, &configuration);
        assert_eq!(curl(&[&shop.envoy.url("/")]).status, 200);
        shop.gateway.process().kill();
        assert_eq!(
            curl(&[&shop.envoy.url("/")]).status,
            status,
            "failure_mode_deny: {deny}"
        );
    }
}
