//! What curl sees of the default policy: a burst of 10, refilled at one every two seconds.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tidegate_e2e::{Gateway, Nginx, Reply, Watch, curl};

const BURST: u64 = 10;
const REFILL: Duration = Duration::from_secs(2);

fn protected() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let gateway = Gateway::start(&["serve", "--upstream", &nginx.url()]);
    (nginx, gateway)
}

/// Spends the burst; the refusal that follows.
fn eleventh(gateway: &Gateway) -> Reply {
    for left in (0..BURST).rev() {
        let reply = curl(&[&gateway.url("/api")]);
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.number("x-ratelimit-remaining"), left);
        assert_eq!(reply.body, "nginx says GET /api\n");
    }
    curl(&[&gateway.url("/api")])
}

#[test]
fn the_eleventh_quick_request_is_told_everything_a_client_needs() {
    let (nginx, gateway) = protected();
    let before = Watch::unix_secs();
    let reply = eleventh(&gateway);
    let after = Watch::unix_secs();

    assert_eq!(reply.start, "HTTP/1.1 429 Too Many Requests");
    assert_eq!(reply.number("x-ratelimit-limit"), BURST);
    assert_eq!(reply.number("x-ratelimit-remaining"), 0);
    let reset = reply.number("x-ratelimit-reset") as f64;
    let refilled = REFILL.as_secs_f64() * BURST as f64;
    assert!(
        (before + refilled..after + refilled + 1.0).contains(&reset) || reset > before,
        "{reset}"
    );
    assert!((1..=2).contains(&reply.number("retry-after")), "{reply:?}");
    assert_eq!(
        reply.field("ratelimit-policy"),
        Some(r#""per-client";q=30;w=60;tidegate-burst=10"#)
    );
    let rate_limit = reply.field("ratelimit").unwrap();
    assert!(rate_limit.starts_with(r#""per-client";r=0;t="#), "{rate_limit}");
    assert_eq!(reply.field("content-type"), Some("application/problem+json"));
    assert_eq!(reply.number("content-length"), reply.body.len() as u64);

    let body: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(body["status"], 429);
    assert_eq!(body["error"], "rate_limit_exceeded");
    assert!(
        body["message"].is_string() && body["type"].is_string() && body["title"].is_string(),
        "{body}"
    );
    assert_eq!(
        nginx.log().len() as u64,
        BURST,
        "the refused request must not reach the origin"
    );
}

#[test]
fn a_retry_is_refused_before_the_announced_moment_and_served_at_it() {
    let (_nginx, gateway) = protected();
    let since_first = Watch::start();
    let refused = eleventh(&gateway);
    let since_refusal = Watch::start();
    let announced = Duration::from_secs(refused.number("retry-after"));
    loop {
        let sent = since_refusal.elapsed();
        let reply = curl(&[&gateway.url("/api")]);
        if reply.status == 200 {
            assert!(
                since_first.elapsed() >= REFILL,
                "served before anything was refilled"
            );
            break;
        }
        assert_eq!(reply.status, 429);
        assert!(
            sent < announced,
            "refused {sent:?} after it was told to wait {announced:?}"
        );
    }
}

#[test]
fn curl_that_waits_as_told_is_served_at_its_first_retry() {
    let (_nginx, gateway) = protected();
    assert_eq!(eleventh(&gateway).status, 429);
    let url = gateway.url("/api");
    let arguments = [
        "--silent",
        "--retry",
        "1",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        &url,
    ];
    let output = Command::new("curl").args(arguments).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200");
}

#[test]
fn a_client_that_wants_plain_json_gets_it() {
    let (_nginx, gateway) = protected();
    eleventh(&gateway);
    let reply = curl(&["-H", "accept: application/json", &gateway.url("/api")]);
    assert_eq!(
        (reply.status, reply.field("content-type")),
        (429, Some("application/json"))
    );
}

#[test]
fn the_origin_learns_the_verdict_and_clients_cannot_write_it() {
    let (_nginx, gateway) = protected();
    let lies = [
        "-H",
        "x-tidegate-verdict: reject",
        "-H",
        "x-tidegate-subject: admin",
        "-H",
        "x-tidegate-tier: gold",
    ];
    let reply = curl(&[&lies[..], &[&gateway.url("/told")]].concat());
    assert!(reply.body.contains("verdict=pass\n"), "{}", reply.body);
    assert!(
        !reply.body.contains("admin") && !reply.body.contains("gold"),
        "{}",
        reply.body
    );
    assert!(reply.body.contains("remaining=9\n"), "{}", reply.body);
}
