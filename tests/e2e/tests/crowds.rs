//! Clients that mean harm by their number, and one that means none and is served all the while.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tidegate_e2e::{Gateway, Nginx, Ordinary, Raw, allow_many_files, until};

/// As many as the gateway takes, and a few more.
const MANY: usize = 10_500;
/// So many addresses share them, each with less than it may have.
const ADDRESSES: usize = 12;
/// What the gateway may have in memory, in KiB: some for itself, and so much for each connection. Measured in a debug build: 16 KiB for an
/// idle one, 49 KiB with half a head, 50 KiB with part of a body that a policy looks at.
const OWN_MEMORY: u64 = 64 * 1024;
const MEMORY_EACH: u64 = 64;

fn most_memory(connections: usize) -> u64 {
    OWN_MEMORY + connections as u64 * MEMORY_EACH
}
/// The longest that anybody else waits, also on a busy machine. No timeout ends the attack as soon as that.
const LONGEST: Duration = Duration::from_secs(30);

fn attacker(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, u8::try_from(1 + index % ADDRESSES).unwrap())
}

/// Opens `MANY` connections and says `opening` on each, while an ordinary client asks. It is served each time, in time, and the
/// gateway's memory is bounded and can be used again.
fn survives(policies: &str, many: usize, opening: &str) {
    allow_many_files();
    let nginx = Nginx::start();
    let mut gateway = Gateway::with_policies(&nginx.url(), policies);
    let address: SocketAddr = gateway.address();
    let open = || {
        let connections = (0..many).map(|index| {
            let mut client = Raw::connect_from(attacker(index), address);
            client.send(opening);
            client
        });
        connections.collect::<Vec<_>>()
    };
    let mut peaks = Vec::new();
    for _ in 0..2 {
        let ordinary = Ordinary::begin(address);
        let crowd = open();
        let served = nginx.log().len();
        until("an ordinary client is served beside the crowd", || {
            (nginx.log().len() > served + 20).then_some(())
        });
        peaks.push(gateway.process().memory_kib());
        let asked = ordinary.end();
        assert_eq!(asked.failed, [""; 0]);
        assert!(asked.served > 20 && asked.longest < LONGEST, "{asked:?}");
        drop(crowd);
    }
    // The second time takes what the first has given back.
    let peak = gateway.process().peak_memory_kib();
    assert!(peak < most_memory(many), "{peak} KiB");
    assert!(peaks[1] < peaks[0] + peaks[0] / 4, "{peaks:?} KiB");
}

const UNLIMITED: &str = "
gateway: { timeouts: { request_header: 10m, idle: 10m } }
policies: []
";
const LOGIN: &str = "
policies:
  - name: login
    match: { method: POST, path: /login }
    key: [client.ip, body.json.username]
    limit: { quota: 100, window: 1m }
";

#[test]
fn ten_thousand_idle_connections_keep_nobody_out() {
    survives(UNLIMITED, MANY, "");
}

#[test]
fn ten_thousand_heads_that_never_end_keep_nobody_out() {
    survives(UNLIMITED, MANY, "GET /slow HTTP/1.1\r\nhost: a\r\n");
}

#[test]
fn nine_thousand_bodies_that_never_end_keep_nobody_out_where_a_policy_reads_them() {
    let head = "POST /login HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{\"username\":";
    survives(LOGIN, 9_000, head);
}

#[test]
fn clients_that_leave_at_once_leave_nothing_behind() {
    let nginx = Nginx::start();
    let mut gateway = Gateway::with_policies(&nginx.url(), UNLIMITED);
    let ordinary = Ordinary::begin(gateway.address());
    for index in 0..5_000 {
        let mut client = Raw::connect_from(attacker(index), gateway.address());
        client.send(["", "GET", "\x16\x03\x01", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"][index % 4]);
    }
    let asked = ordinary.end();
    assert_eq!(asked.failed, [""; 0]);
    assert!(asked.served > 0 && asked.longest < LONGEST, "{asked:?}");
    let peak = gateway.process().peak_memory_kib();
    assert!(peak < most_memory(5_000), "{peak} KiB");
}
