//! Bodies: slow, without an end, half, and not read.

use std::time::Duration;

use tidegate_e2e::{Attack, Reads, Siege, Then};

use crate::{IMPATIENT, SOON, all_told, attack, told_nothing_but};

/// What a body may take beyond what its bytes do.
const GRACE: Duration = Duration::from_secs(10);
/// The origin takes what is sent here to its end before it answers.
const HEAD: &str = "POST /uploads/hostile HTTP/1.1\r\nhost: a\r\n";

fn of_length(length: &str) -> String {
    format!("{HEAD}content-length: {length}\r\n\r\nx")
}

fn chunked(body: &str) -> String {
    format!("{HEAD}transfer-encoding: chunked\r\n\r\n{body}")
}

#[test]
fn bodies_that_are_late_are_given_up_on() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let [drip, stop, _] = siege.withstands([
        Attack {
            then: Then::Drips(b"x".to_vec()),
            within: GRACE + SOON,
            ..attack(at, "bodies that drip", of_length("10000"))
        },
        attack(at, "bodies that stop", of_length("10000")),
        Attack {
            then: Then::HalfCloses,
            ..attack(at, "half a body and half a close", of_length("10000"))
        },
    ]);
    all_told(&drip, "HTTP/1.1 408 ");
    all_told(&stop, "HTTP/1.1 408 ");
}

#[test]
fn bodies_that_are_too_much_are_refused() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let flood = |name, says: String, flood: Vec<u8>| Attack {
        clients: 32,
        then: Then::Floods(flood),
        ..attack(at, name, says)
    };
    let [announced, endless, extension, trailers] = siege.withstands([
        attack(at, "a large body, announced", of_length("10000000000")),
        flood("a body without an end", chunked(""), chunk.into()),
        flood(
            "a chunk's extension without an end",
            chunked("1;"),
            vec![b'x'; 64 * 1024],
        ),
        flood(
            "trailers without an end",
            chunked("0\r\n"),
            "x-flood: aaaaaaaa\r\n".repeat(1000).into(),
        ),
    ]);
    all_told(&announced, "HTTP/1.1 413 ");
    told_nothing_but(&endless, "HTTP/1.1 413 ");
    told_nothing_but(&extension, "HTTP/1.1 400 ");
    told_nothing_but(&trailers, "HTTP/1.1 4");
}

#[test]
fn responses_that_nobody_reads_end_with_the_time_to_read() {
    let mut siege = Siege::of(IMPATIENT);
    siege.nginx.serve_zeros("large", 100 << 20);
    let unread = Attack {
        reads: Reads::Nothing,
        ..attack(
            siege.ports.clear,
            "large responses",
            "GET /files/large HTTP/1.1\r\nhost: a\r\n\r\n",
        )
    };
    let half = Attack {
        name: "large responses and half a close",
        then: Then::HalfCloses,
        ..unread.clone()
    };
    siege.withstands([unread, half]);
}
