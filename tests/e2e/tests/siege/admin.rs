//! The admin listener.

use std::time::Duration;

use tidegate_e2e::{Attack, Ordinary, Reads, Siege, Then, get};

use crate::{IMPATIENT, attack};

/// A head has 5 s, a connection 15 s.
const SLOWEST: Duration = Duration::from_secs(15);

#[test]
fn a_crowd_at_the_admin_listener_keeps_no_probe_out() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.admin;
    let scrape = "GET /metrics HTTP/1.1\r\nhost: a\r\n";
    let crowds = [
        attack(at, "silence", ""),
        Attack {
            then: Then::Drips(b"x: y\r\n".to_vec()),
            ..attack(at, "scrapers that drip", scrape)
        },
        Attack {
            reads: Reads::Nothing,
            ..attack(at, "scrapers that do not read", format!("{scrape}\r\n"))
        },
    ];
    let probe = Ordinary::asking(move || get(at, "/livez", "ok\n"));
    siege.withstands_beside(
        probe,
        crowds.map(|crowd| Attack {
            within: SLOWEST,
            ..crowd
        }),
    );
}
