//! What curl sees of the default policy: a burst of 10, refilled at one every two seconds.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tidegate_e2e::{Gateway, Nginx, Reply, Watch, curl};

const BURST: u32 = 10;
const REFILL: Duration = Duration::from_secs(2);
const ONE_AN_HOUR: &str = "
policies:
  - { name: slow, key: [client.ip], limit: { quota: 1, window: 1h, burst: 1 } }
";

/// A gateway with the default policy that has just refused a request.
struct Spent {
    nginx: Nginx,
    gateway: Gateway,
    /// Since before the first request.
    since_first: Watch,
    /// How many requests passed.
    passed: u32,
    refused: Reply,
}

/// Makes requests until one is refused: the eleventh, or on a slow machine one for every refill later.
fn spent() -> Spent {
    let nginx = Nginx::start();
    let gateway = Gateway::start(&["serve", "--upstream", &nginx.url()]);
    let since_first = Watch::start();
    let mut passed = 0;
    loop {
        let reply = curl(&[&gateway.url("/api")]);
        if reply.status != 200 {
            let refills = since_first.elapsed().as_secs() / REFILL.as_secs();
            assert!(
                passed >= BURST && u64::from(passed - BURST) <= refills,
                "{passed} passed"
            );
            return Spent {
                nginx,
                gateway,
                since_first,
                passed,
                refused: reply,
            };
        }
        passed += 1;
        assert_eq!(reply.body, "nginx says GET /api\n");
        assert_eq!(reply.number("x-ratelimit-limit"), u64::from(BURST));
        assert!(reply.number("x-ratelimit-remaining") < u64::from(BURST));
    }
}

#[test]
fn the_eleventh_quick_request_is_told_everything_a_client_needs() {
    let before = Watch::unix_secs();
    let Spent {
        nginx,
        passed,
        refused: reply,
        ..
    } = spent();
    let after = Watch::unix_secs();

    assert_eq!(reply.start, "HTTP/1.1 429 Too Many Requests");
    assert_eq!(reply.number("x-ratelimit-limit"), u64::from(BURST));
    assert_eq!(reply.number("x-ratelimit-remaining"), 0);
    // Full again ten refills after it was empty; whole seconds, rounded up. What was refilled meanwhile shortens it.
    let reset = reply.number("x-ratelimit-reset") as f64;
    let full = (REFILL * BURST).as_secs_f64();
    assert!(
        (before + full - 1.0..=after + full + 1.0).contains(&reset),
        "{reset}, between {before} and {after}"
    );
    assert!((1..=2).contains(&reply.number("retry-after")), "{reply:?}");
    assert_eq!(
        reply.field("ratelimit-policy"),
        Some(r#""per-client";q=1;w=2;tidegate-burst=10"#)
    );
    let rate_limit = reply.field("ratelimit").unwrap();
    assert!(rate_limit.starts_with(r#""per-client";r=0;t="#), "{rate_limit}");
    assert_eq!(reply.field("content-type"), Some("application/json"));
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    assert_eq!(reply.number("content-length"), reply.body.len() as u64);

    let body: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(body["status"], 429);
    assert_eq!(body["error"], "rate_limit_exceeded");
    assert!(
        body["message"].is_string() && body["type"].is_string() && body["title"].is_string(),
        "{body}"
    );
    let reached = nginx.log().len();
    assert_eq!(
        reached, passed as usize,
        "the refused request must not reach the origin"
    );
}

#[test]
fn a_retry_is_refused_before_the_announced_moment_and_served_at_it() {
    let Spent {
        nginx: _nginx,
        gateway,
        since_first,
        passed,
        refused,
    } = spent();
    let since_refusal = Watch::start();
    let announced = Duration::from_secs(refused.number("retry-after"));
    loop {
        let sent = since_refusal.elapsed();
        let reply = curl(&[&gateway.url("/api")]);
        if reply.status == 200 {
            let refilled = REFILL * (passed + 1 - BURST);
            assert!(
                since_first.elapsed() >= refilled,
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
    let Spent {
        nginx: _nginx,
        gateway,
        ..
    } = spent();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("body");
    let reply = curl(&[
        "--retry",
        "1",
        "--output",
        output.to_str().unwrap(),
        "--dump-header",
        "-",
        "--no-include",
        &gateway.url("/api"),
    ]);
    // What it prints begins with the first response; the file holds the last body.
    assert!([429, 200].contains(&reply.status));
    assert_eq!(fs::read_to_string(output).unwrap(), "nginx says GET /api\n");
}

#[test]
fn a_client_that_knows_problem_documents_gets_one() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), ONE_AN_HOUR);
    assert_eq!(curl(&[&gateway.url("/api")]).status, 200);
    let reply = curl(&["-H", "accept: application/problem+json", &gateway.url("/api")]);
    assert_eq!(
        (reply.status, reply.field("content-type")),
        (429, Some("application/problem+json"))
    );
}

#[test]
fn the_origin_learns_the_verdict_and_clients_cannot_write_it() {
    let nginx = Nginx::start();
    let gateway = Gateway::start(&["serve", "--upstream", &nginx.url()]);
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
