//! Hostile clients, many at a time, while somebody ordinary is served. Each attack lasts until the gateway has cut those who attack;
//! none of them leaves by itself. `cargo test -p tidegate-e2e --test siege -- --nocapture` tells how long that took, how long the ordinary
//! client waited, and what became of the memory.

mod admin;
mod bodies;
mod calls;
mod doors;
mod garbage;
mod heads;
mod http2;

use std::net::SocketAddr;
use std::time::Duration;

use tidegate_e2e::{Attack, Reads, Then};

/// Of a gateway that is as impatient as tests need it.
const IMPATIENT: &str = "
  timeouts: { request_header: 2s, idle: 2s }
  limits: { max_body_bytes: 1MiB }
";
/// As long as such a gateway waits for anybody, a tick, and the time in which a closing client is listened to.
const SOON: Duration = Duration::from_secs(4);
/// For an HTTP/2 client that asks for nothing: the time between requests, and the time to read.
const AFTER_A_REST: Duration = Duration::from_secs(6);
const CLIENTS: usize = 64;

/// Clients that say `says` to `at`, wait, and read what they are told.
fn attack(at: SocketAddr, name: &'static str, says: impl Into<Vec<u8>>) -> Attack {
    Attack {
        name,
        at,
        clients: CLIENTS,
        says: says.into(),
        then: Then::Waits,
        reads: Reads::All,
        within: SOON,
    }
}

/// Fails unless each was told something that begins with `start`.
fn all_told(told: &[Vec<u8>], start: &str) {
    for heard in told {
        let heard = String::from_utf8_lossy(heard);
        assert!(heard.starts_with(start), "{heard:?} instead of {start:?}");
    }
}

/// The same, but some may have been told nothing: the reset of a connection on which more came overtakes the answer.
fn told_nothing_but(told: &[Vec<u8>], start: &str) {
    let heard: Vec<_> = told.iter().filter(|heard| !heard.is_empty()).cloned().collect();
    all_told(&heard, start);
    assert!(!heard.is_empty());
}
