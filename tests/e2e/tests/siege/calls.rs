//! At the doors that speak something else than questions over HTTP/1.1: gRPC, HAProxy's protocol and that of Redis.

use std::net::SocketAddr;

use tidegate_e2e::frames::{
    self, DATA, END_HEADERS, HEADERS, PING, SETTINGS, block, goaway, request, streams,
};
use tidegate_e2e::{Attack, Port, Reads, Siege, Then, spop};

use crate::{AFTER_A_REST, attack};

const NO_ERROR: u32 = 0;
const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A siege of a gateway that is impatient and has these doors, and where those are. Callers come from anywhere on this machine.
fn siege<const N: usize>(doors: [&str; N]) -> (Siege, [SocketAddr; N], [Port; N]) {
    let ports = [(); N].map(|()| Port::claim());
    let places = ports
        .each_ref()
        .map(|port| SocketAddr::from(([127, 0, 0, 1], port.number())));
    let doors: String = doors
        .iter()
        .zip(places)
        .map(|(door, at)| format!("  {door}: '{at}'\n"))
        .collect();
    let settings = format!("\n  timeouts: {{ request_header: 2s, idle: 2s }}\ndoors:\n{doors}");
    (Siege::of(&settings), places, ports)
}

#[test]
fn what_does_not_come_whole_is_given_up_on() {
    let (mut siege, [redis, spoe, envoy], _ports) = siege(["redis", "spoe", "envoy"]);
    let command = "*2\r\n$4\r\nPING\r\n$1000\r\n";
    let message = [spop::hello(&[]), spop::notify(1, 1)[..9].to_vec()].concat();
    siege.withstands([
        attack(redis, "half a command", command),
        Attack {
            then: Then::Drips(b"x".to_vec()),
            ..attack(redis, "a command that drips", command)
        },
        attack(spoe, "half a greeting", &spop::hello(&[])[..9]),
        attack(spoe, "half a message", message.clone()),
        Attack {
            then: Then::Drips(b"x".to_vec()),
            ..attack(spoe, "a message that drips", message)
        },
        attack(envoy, "half a preface", &frames::hello()[..9]),
        Attack {
            within: AFTER_A_REST,
            ..attack(envoy, "no calls", frames::hello())
        },
    ]);
}

#[test]
fn who_asks_and_does_not_read_is_cut() {
    let (mut siege, [redis, spoe, envoy], _ports) = siege(["redis", "spoe", "envoy"]);
    let unread = |at, name, says: Vec<u8>, flood: Vec<u8>| Attack {
        clients: 16,
        then: Then::Floods(flood),
        reads: Reads::Nothing,
        within: AFTER_A_REST,
        ..attack(at, name, says)
    };
    let asked = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\na\r\n$1\r\n9\r\n$1\r\n9\r\n$2\r\n60\r\n";
    siege.withstands([
        unread(redis, "commands", Vec::new(), asked.repeat(1000)),
        unread(
            spoe,
            "messages",
            spop::hello(&[]),
            spop::notify(1, 1).repeat(1000),
        ),
        unread(
            envoy,
            "pings",
            frames::hello(),
            frames::frame(PING, 0, 0, &[0; 8]).repeat(1000),
        ),
        unread(
            envoy,
            "settings",
            frames::hello(),
            frames::frame(SETTINGS, 0, 0, b"").repeat(1000),
        ),
    ]);
}

#[test]
fn calls_whose_messages_do_not_come_end_in_their_time() {
    let (mut siege, [envoy], _ports) = siege(["envoy"]);
    let call = |stream| {
        let more = block(&[("content-type", "application/grpc"), ("grpc-timeout", "1S")]);
        let head = [request("POST", RATE_LIMIT), more].concat();
        [
            frames::frame(HEADERS, END_HEADERS, stream, &head),
            // As many bytes as a message may have, of which four are there.
            frames::frame(DATA, 0, stream, &[0, 0, 1, 0, 0, 0, 0, 0, 0]),
        ]
        .concat()
    };
    let calls: Vec<u8> = streams(100).flat_map(call).collect();
    let [told] = siege.withstands([Attack {
        clients: 8,
        within: AFTER_A_REST,
        ..attack(envoy, "calls without an end", [frames::hello(), calls].concat())
    }]);
    for heard in &told {
        assert_eq!(goaway(heard), Some(NO_ERROR));
    }
}
