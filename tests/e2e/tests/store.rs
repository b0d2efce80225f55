//! Several gateways and one Redis: one limit, and what happens while the store is not there.

use std::thread;

use tidegate_e2e::{Gateway, Nginx, Reply, curl, until};
use tidegate_test_servers::Server;

/// How many requests each gateway gets at once.
const REQUESTS: usize = 30;

fn policies(redis: &Server, policies: &str) -> String {
    format!(
        "store: {{ redis: {}, timeout: 250ms }}\npolicies:\n{policies}",
        redis.url()
    )
}

fn get(gateway: &Gateway, path: &str) -> Reply {
    curl(&[&gateway.url(path)])
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
  - { name: closed, match: { path: /closed }, key: [client.ip], limit: { quota: 100, window: 1h }, on_store_failure: deny }
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
