//! Whose address a request is counted under.

use tidegate_e2e::{Gateway, Nginx, Reply, curl};

const TRUSTING: &str = "
gateway: { trusted_proxies: [127.0.0.0/8] }
policies:
  - { name: per-client, key: [client.ip], limit: { quota: 1, window: 1h, burst: 2 } }
";

/// Ten requests, and no refill while a test runs.
const TEN: &str = "
policies:
  - { name: ten, key: [client.ip], limit: { quota: 1, window: 1h, burst: 10 } }
";

fn from(gateway: &Gateway, forwarded_for: &str) -> Reply {
    curl(&[
        "-H",
        &format!("x-forwarded-for: {forwarded_for}"),
        &gateway.url("/told"),
    ])
}

#[test]
fn a_forwarded_address_changes_nothing_by_default() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), TEN);
    for index in 0..10 {
        let reply = from(&gateway, &format!("203.0.113.{index}"));
        assert_eq!(reply.status, 200);
        let told = reply
            .body
            .lines()
            .find_map(|line| line.strip_prefix("forwarded="))
            .unwrap();
        assert_eq!(told.rsplit(", ").next(), Some("127.0.0.1"), "{told}");
    }
    assert_eq!(from(&gateway, "203.0.113.77").status, 429);
}

#[test]
fn behind_a_trusted_proxy_each_client_has_its_own_count() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), TRUSTING);
    for client in ["203.0.113.1", "203.0.113.2", "2001:db8::1"] {
        assert_eq!(
            [1, 2, 3].map(|_| from(&gateway, client).status),
            [200, 200, 429],
            "{client}"
        );
    }
}

#[test]
fn what_a_client_wrote_left_of_the_trusted_proxy_is_not_believed() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), TRUSTING);
    let spoofed = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];
    let statuses = spoofed.map(|lie| from(&gateway, &format!("{lie}, 203.0.113.9")).status);
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn addresses_of_one_ipv6_network_share_a_count_and_mapped_ones_are_unmapped() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), TRUSTING);
    let network = ["2001:db8:0:1::a", "2001:db8:0:1::b", "2001:db8:0:1:ffff::c"];
    assert_eq!(
        network.map(|client| from(&gateway, client).status),
        [200, 200, 429]
    );
    let mapped = ["203.0.113.5", "::ffff:203.0.113.5", "203.0.113.5"];
    assert_eq!(
        mapped.map(|client| from(&gateway, client).status),
        [200, 200, 429]
    );
}
