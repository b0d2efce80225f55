//! The protocols that clients speak.

use std::collections::HashSet;
use std::process::Command;

use tidegate_e2e::{EchoOrigin, Gateway, Nginx, chat, curl};
use tungstenite::{Error, connect};

const UNLIMITED: &str = "policies: []\n";
/// Ten requests, and no refill while a test runs.
const TEN: &str = "
policies:
  - { name: ten, key: [client.ip], limit: { quota: 1, window: 1h, burst: 10 } }
";

#[test]
fn http2_is_limited_as_http1_is() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), TEN);
    let replies: Vec<_> = (0..11)
        .map(|_| curl(&["--http2-prior-knowledge", &gateway.url("/h2")]))
        .collect();
    for (index, reply) in replies.iter().take(10).enumerate() {
        assert_eq!(reply.start, "HTTP/2 200");
        assert_eq!(reply.number("x-ratelimit-remaining"), 9 - index as u64);
        assert_eq!(reply.body, "nginx says GET /h2\n");
    }
    let refused = &replies[10];
    assert_eq!(refused.start, "HTTP/2 429");
    assert!((1..=3600).contains(&refused.number("retry-after")));
    let hop_by_hop = ["connection", "keep-alive", "transfer-encoding", "upgrade"];
    assert!(
        replies
            .iter()
            .all(|reply| hop_by_hop.iter().all(|name| reply.field(name).is_none()))
    );
}

#[test]
fn one_connection_carries_many_requests_on_both_sides() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), UNLIMITED);
    let urls: Vec<_> = (0..50).map(|index| gateway.url(&format!("/{index}"))).collect();
    let output = Command::new("curl")
        .args(["--silent", "--write-out", "%{num_connects} %{http_code}\\n"])
        .args(urls.iter().flat_map(|url| ["--output", "/dev/null", url]))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (50, "1 200"), "{text}");
    assert!(lines[1..].iter().all(|line| *line == "0 200"), "{text}");

    let log = nginx.log();
    let connections: HashSet<_> = log
        .iter()
        .map(|line| {
            line.split("connection=")
                .nth(1)
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
        })
        .collect();
    assert_eq!((log.len(), connections.len()), (50, 1), "{log:?}");
}

#[test]
fn websocket_messages_go_both_ways_once_the_handshake_passed() {
    let origin = EchoOrigin::start();
    let gateway = Gateway::start(&["serve", "--upstream", &origin.url()]);
    let (socket, response) = connect(format!("ws://{}/chat", gateway.address())).unwrap();
    assert_eq!(response.status().as_u16(), 101);
    chat(socket);
}

#[test]
fn a_websocket_handshake_over_the_limit_is_refused_with_429() {
    let origin = EchoOrigin::start();
    let gateway = Gateway::with_policies(&origin.url(), TEN);
    let url = format!("ws://{}/chat", gateway.address());
    let open: Vec<_> = (0..10).map(|_| connect(&url).unwrap()).collect();
    match connect(&url) {
        Err(Error::Http(response)) => {
            assert_eq!(response.status().as_u16(), 429);
            assert!(response.headers().contains_key("retry-after"));
        }
        other => panic!("{other:?}"),
    }
    drop(open);
}

#[test]
fn ipv6_clients_are_served_and_counted() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_files("[::1]:0", &nginx.url(), TEN, &[]);
    assert!(gateway.address().is_ipv6());
    for _ in 0..10 {
        assert_eq!(curl(&["--globoff", &gateway.url("/six")]).status, 200);
    }
    assert_eq!(curl(&["--globoff", &gateway.url("/six")]).status, 429);
}
