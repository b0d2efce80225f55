//! Two gateways and a master under Sentinels, which is killed.

use tidegate_e2e::{Gateway, Nginx, Watch, until};
use tidegate_test_servers::{Kind, Sentinel};

use crate::get;

const QUOTA: usize = 20;

/// What is asked for, by what is done while the store does not answer.
const PATHS: [&str; 2] = ["/usual", "/careful"];

fn policies(group: &Sentinel) -> String {
    let sentinels: Vec<_> = group
        .sentinels()
        .iter()
        .map(|server| server.address().to_string())
        .collect();
    format!(
        "store: {{ sentinel: [{}], service: {}, timeout: 1s }}
policies:
  - {{ name: usual, match: {{ path: /usual }}, key: [client.ip], limit: {{ algorithm: sliding_window_log, quota: {QUOTA}, window: 1h }}, on_store_failure: allow }}
  - {{ name: careful, match: {{ path: /careful }}, key: [client.ip], limit: {{ algorithm: sliding_window_log, quota: {QUOTA}, window: 1h }}, on_store_failure: deny }}
",
        sentinels.join(", "),
        group.name()
    )
}

/// How many of `requests`, in turn at each of the gateways, the store lets pass.
fn passed(gateways: &[Gateway], path: &str, requests: usize) -> usize {
    let replies = gateways
        .iter()
        .cycle()
        .take(requests)
        .map(|gateway| get(gateway, path));
    let decided = replies.inspect(|reply| assert_eq!(reply.field("x-tidegate-failure"), None, "{path}"));
    decided.filter(|reply| reply.status == 200).count()
}

#[test]
fn one_limit_holds_when_the_master_is_killed_and_another_takes_over() {
    let (nginx, mut group) = (Nginx::start(), Sentinel::start(Kind::Redis70, 1));
    let text = policies(&group);
    let gateways = [0, 1].map(|_| Gateway::with_policies(&nginx.url(), &text));
    for path in PATHS {
        assert_eq!(passed(&gateways, path, QUOTA / 2), QUOTA / 2);
    }
    let master = group.master();
    until("the replica has all of it", || {
        let offset = |server: usize, name| group.servers()[server].info(name);
        let master = offset(master, "master_repl_offset");
        (master == offset(1, "slave_repl_offset")).then_some(())
    });

    group.kill_master();
    let outage = Watch::start();
    let alone = get(&gateways[0], "/usual");
    assert_eq!(alone.status, 200);
    assert!(alone.field("x-tidegate-failure").is_some(), "{alone:?}");
    assert_eq!(get(&gateways[0], "/careful").status, 503);
    assert_ne!(group.master(), master);
    let failover = outage.elapsed();
    let mut asked = 0;
    for gateway in &gateways {
        until("the store decides again", || {
            let reply = get(gateway, "/usual");
            let is_decided = reply.field("x-tidegate-failure").is_none();
            asked += usize::from(is_decided && reply.status == 200);
            is_decided.then_some(())
        });
    }
    let recovery = outage.elapsed() - failover;
    assert!(recovery.as_secs() < 3, "{recovery:?}");
    // What the new master knew is not given again.
    assert_eq!(asked + passed(&gateways, "/usual", 2 * QUOTA), QUOTA / 2);
    // Who would rather refuse gives nothing of what may be lost: counters begin empty for a minute.
    assert_eq!(passed(&gateways, "/careful", QUOTA), 0);
}
