//! Under load: what passes is the burst plus the rate times the time, no more and hardly less.

use std::time::Duration;

use tidegate_e2e::{Counts, Gateway, Nginx, h2load, wrk};

/// So large that a load generator that stalls for some seconds on a busy machine still finds no full bucket.
const BURST: u64 = 200;
const PER_SECOND: u64 = 40;
const POLICIES: &str = "
policies:
  - { name: load, key: [client.ip], limit: { quota: 40, window: 1s, burst: 200 } }
";
const LOAD: Duration = Duration::from_secs(3);

fn start() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), POLICIES);
    (nginx, gateway)
}

fn assert_limit_held(counts: Counts, at_origin: u64) {
    let most = BURST + (PER_SECOND as f64 * counts.took.as_secs_f64()).ceil() as u64;
    let least = BURST + PER_SECOND * (LOAD.as_secs() - 1);
    assert!(
        (least..=most).contains(&at_origin),
        "{at_origin} of {least}..={most} reached the origin: {counts:?}"
    );
    assert!(
        (least..=at_origin).contains(&counts.passed),
        "{at_origin} reached the origin: {counts:?}"
    );
    assert!(counts.refused > counts.passed, "no load to speak of: {counts:?}");
    assert_eq!(counts.broken, 0, "{counts:?}");
}

#[test]
fn wrk_gets_the_burst_and_the_rate() {
    let (nginx, gateway) = start();
    let counts = wrk(&[
        "--threads",
        "1",
        "--connections",
        "16",
        "--duration",
        "3s",
        &gateway.url("/wrk"),
    ]);
    assert_limit_held(counts, nginx.log().len() as u64);
}

#[test]
fn h2load_gets_the_burst_and_the_rate() {
    let (nginx, gateway) = start();
    let counts = h2load(&[
        "--duration",
        "3",
        "--clients",
        "4",
        "--max-concurrent-streams",
        "8",
        &gateway.url("/h2load"),
    ]);
    assert_limit_held(counts, nginx.log().len() as u64);
}

#[test]
fn h2load_without_a_limit_loses_nothing() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), "policies: []\n");
    let counts = h2load(&[
        "--requests",
        "5000",
        "--clients",
        "10",
        "--max-concurrent-streams",
        "10",
        &gateway.url("/all"),
    ]);
    assert_eq!(
        (counts.passed, counts.refused, counts.broken),
        (5000, 0, 0),
        "{counts:?}"
    );
    assert_eq!(nginx.log().len(), 5000);
}
