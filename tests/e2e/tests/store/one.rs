//! Several gateways and one Redis: one limit, and what happens while the store is not there.

use std::thread;

use serde_json::Value;
use tidegate_e2e::{Counts, Gateway, Nginx, curl, h2load, until};
use tidegate_test_servers::Server;

use crate::get;

/// How many requests each gateway gets at once.
const REQUESTS: usize = 30;

fn policies(redis: &Server, policies: &str) -> String {
    format!(
        "admin: 127.0.0.1:0\nstore: {{ redis: {}, timeout: 1s }}\npolicies:\n{policies}",
        redis.url()
    )
}

#[test]
fn two_gateways_hold_one_limit() {
    let (nginx, redis) = (Nginx::start(), Server::redis());
    let text = policies(
        &redis,
        "  - { name: shared, key: [client.ip], limit: { algorithm: sliding_window_log, quota: 20, window: 1h } }\n",
    );
    let gateways = [0, 1].map(|_| Gateway::with_policies(&nginx.url(), &text));
    let passed: usize = thread::scope(|scope| {
        let clients = gateways.iter().flat_map(|gateway| [gateway; 3]).map(|gateway| {
            scope.spawn(move || {
                let replies = (0..REQUESTS / 3).map(|_| get(gateway, "/"));
                replies.filter(|reply| reply.status == 200).count()
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(passed, 20);
}

#[test]
fn sixty_four_clients_of_two_gateways_get_exactly_the_limit() {
    let (nginx, redis) = (Nginx::start(), Server::redis());
    let text = policies(
        &redis,
        "  - { name: shared, key: [client.ip], limit: { algorithm: sliding_window_log, quota: 500, window: 1h }, on_store_failure: deny }\n",
    );
    let gateways = [0, 1].map(|_| Gateway::with_policies(&nginx.url(), &text));
    let counts = thread::scope(|scope| {
        let loads = gateways.each_ref().map(|gateway| {
            scope.spawn(|| {
                h2load(&[
                    "--clients=32",
                    "--requests=1600",
                    "--threads=1",
                    &gateway.url("/"),
                ])
            })
        });
        loads.map(|load| load.join().unwrap())
    });
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    let passed = sum(|counts| counts.passed);
    assert_eq!(
        (passed + sum(|counts| counts.refused), sum(|counts| counts.broken)),
        (3_200, 0)
    );
    // On a machine that is too busy a decision may come too late, and is refused: it may have spent a unit.
    let late = gateways.each_ref().map(|gateway| {
        ["timeout", "unavailable"]
            .map(|kind| gateway.metric(&format!(r#"tidegate_store_failures_total{{kind="{kind}"}}"#)) as u64)
    });
    let late: u64 = late.iter().flatten().sum();
    assert!(passed <= 500 && passed + late >= 500, "{passed}, {late} late");
    assert!(counts.iter().all(|counts| counts.passed > 0), "{counts:?}");
    assert_eq!(nginx.log().len() as u64, passed, "the origin saw them");
}

#[test]
fn a_request_that_the_store_refuses_spends_nothing_in_memory() {
    let (nginx, redis) = (Nginx::start(), Server::redis());
    let text = policies(
        &redis,
        "  - { name: shared, match: { path: /a }, key: [client.ip], limit: { quota: 1, window: 1h } }
  - { name: own, key: [client.ip], limit: { quota: 3, window: 1h }, consistency: local }\n",
    );
    let gateway = Gateway::with_policies(&nginx.url(), &text);
    let statuses =
        |path: &str, count: usize| -> Vec<u16> { (0..count).map(|_| get(&gateway, path).status).collect() };
    assert_eq!(statuses("/a", 5), [200, 429, 429, 429, 429]);
    assert_eq!(statuses("/", 3), [200, 200, 429]);
}

#[test]
fn while_the_store_is_gone_each_policy_goes_its_own_way_and_comes_back_with_it() {
    let (nginx, mut redis) = (Nginx::start(), Server::redis());
    let text = policies(
        &redis,
        "  - { name: open, match: { path: /open }, key: [client.ip], limit: { quota: 1, window: 1h }, on_store_failure: allow }
  - { name: closed, match: { path: /closed }, key: [client.ip], limit: { quota: 6000, window: 1m }, on_store_failure: deny }
  - { name: alone, match: { path: /alone }, key: [client.ip], limit: { quota: 8, window: 1h }, on_store_failure: local, local_share: 25% }\n",
    );
    let gateway = Gateway::with_policies(&nginx.url(), &text);
    assert_eq!(get(&gateway, "/closed").status, 200);
    redis.kill();
    let statuses = |path: &str| [0, 1, 2].map(|_| get(&gateway, path).status);
    assert_eq!(statuses("/open"), [200, 200, 200]);
    assert_eq!(statuses("/alone"), [200, 200, 429]);
    let alone = get(&gateway, "/alone");
    assert_eq!(
        (alone.status, alone.field("x-tidegate-failure").is_some()),
        (429, true)
    );
    let refused = get(&gateway, "/closed");
    assert_eq!(refused.status, 503);
    assert!(refused.field("x-tidegate-failure").is_some(), "{refused:?}");
    assert!(refused.body.contains("limiter_failed"), "{refused:?}");

    redis.restart();
    until("the store to be asked again", || {
        let reply = get(&gateway, "/closed");
        (reply.status == 200).then_some(())
    });
    assert!(get(&gateway, "/alone").field("x-tidegate-failure").is_none());
    assert_eq!(statuses("/open")[1..], [429, 429]);
}

#[test]
fn metrics_and_status_tell_how_the_store_is() {
    let (nginx, redis) = (Nginx::start(), Server::redis());
    let text = policies(
        &redis,
        "  - { name: shared, key: [client.ip], limit: { quota: 100, window: 1h } }\n",
    );
    let gateway = Gateway::with_policies(&nginx.url(), &text);
    for _ in 0..3 {
        assert_eq!(get(&gateway, "/").status, 200);
    }
    let breaker = || {
        let status: Value = serde_json::from_str(&curl(&[&gateway.admin_url("/status")]).body).unwrap();
        let server = &status["store"]["shared"]["servers"][0];
        (server["connected"].clone(), server["breaker"].clone())
    };
    assert_eq!(breaker(), (true.into(), "closed".into()));
    for (series, value) in [
        ("tidegate_store_decisions_total", 3.0),
        ("tidegate_store_calls_total", 3.0),
        ("tidegate_store_decision_duration_seconds_count", 3.0),
        (
            r#"tidegate_store_decision_duration_seconds_bucket{le="0.8192"}"#,
            3.0,
        ),
        (
            r#"tidegate_store_decision_duration_seconds_bucket{le="+Inf"}"#,
            3.0,
        ),
        (r#"tidegate_store_servers{state="closed"}"#, 1.0),
        ("tidegate_store_connections_opened_total", 1.0),
    ] {
        assert_eq!(gateway.metric(series), value, "{series}");
    }
    let took = gateway.metric("tidegate_store_decision_duration_seconds_sum");
    assert!(took > 20e-6 && took < 3.0, "{took} s");

    redis.stop();
    until("the store is left alone", || {
        get(&gateway, "/");
        (gateway.metric(r#"tidegate_store_servers{state="closed"}"#) == 0.0).then_some(())
    });
    assert_ne!(breaker(), (true.into(), "closed".into()));
    assert!(gateway.metric(r#"tidegate_store_faults_total{fault="late"}"#) > 0.0);
    assert_eq!(gateway.metric("tidegate_store_degraded"), 1.0);
    redis.cont();
    until("it is asked again", || {
        get(&gateway, "/");
        (breaker() == (true.into(), "closed".into())).then_some(())
    });
}
