//! Behind a balancer that forwards bytes and says in front of them who opened the connection.

use tidegate_e2e::{Gateway, Haproxy, Nginx, curl, try_curl};

/// Trusts the balancer, which connects from 127.0.0.1, and not the clients, which connect to it from other addresses.
fn gateway(nginx: &Nginx, version: &str) -> Gateway {
    let policies = format!(
        "
gateway:
  listen: {{ address: '127.0.0.1:0', proxy_protocol: {version} }}
  trusted_proxies: [127.0.0.1]
policies:
  - {{ name: per-client, key: [client.ip], limit: {{ quota: 1, window: 1h, burst: 2 }} }}
"
    );
    Gateway::as_configured(&nginx.url(), &policies)
}

/// What the origin was told of the address that the request came from, and the statuses of three in a row.
fn ask(url: &str, from: &str) -> (String, [u16; 3]) {
    let replies = [1, 2, 3].map(|_| curl(&["--interface", from, url]));
    let told = replies[0]
        .body
        .lines()
        .find_map(|line| line.strip_prefix("forwarded="));
    (told.unwrap().to_owned(), replies.map(|reply| reply.status))
}

#[test]
fn haproxy_tells_who_opened_the_connection() {
    let nginx = Nginx::start();
    for (version, options) in [
        ("v1", "send-proxy"),
        ("v2", "send-proxy-v2"),
        ("v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id"),
        ("any", "send-proxy"),
        ("any", "send-proxy-v2 proxy-v2-options crc32c"),
    ] {
        let gateway = gateway(&nginx, version);
        let haproxy = Haproxy::before(gateway.address(), options);
        for client in ["127.0.0.2", "127.0.0.3"] {
            let seen = ask(&haproxy.url("/told"), client);
            assert_eq!(seen, (client.to_owned(), [200, 200, 429]), "{options}");
        }
    }
}

#[test]
fn curl_with_the_header_is_served_and_without_it_is_not() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx, "v1");
    assert_eq!(curl(&["--haproxy-protocol", &gateway.url("/told")]).status, 200);
    assert!(try_curl(&[&gateway.url("/told")]).is_err());
    // Whoever is no trusted proxy is not listened to, whatever they say.
    let untrusted = ["--interface", "127.0.0.2", "--haproxy-protocol"];
    assert!(try_curl(&[&untrusted[..], &[&gateway.url("/told")]].concat()).is_err());
}
