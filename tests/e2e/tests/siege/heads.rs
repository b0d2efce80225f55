//! Heads: slow, many, long, and none.

use tidegate_e2e::{Attack, Reads, Siege, Then};

use crate::{IMPATIENT, all_told, attack, told_nothing_but};

const HALF: &str = "GET /hostile HTTP/1.1\r\nhost: a\r\n";

fn assert_none_arrived(siege: &Siege) {
    assert!(siege.nginx.log().iter().all(|line| !line.contains("/hostile")));
}

#[test]
fn heads_that_are_late_are_given_up_on() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let [_, drip, _] = siege.withstands([
        attack(at, "silence", ""),
        Attack {
            then: Then::Drips(b"x: y\r\n".to_vec()),
            ..attack(at, "heads that drip", HALF)
        },
        Attack {
            then: Then::HalfCloses,
            ..attack(at, "half a head and half a close", HALF)
        },
    ]);
    all_told(&drip, "HTTP/1.1 408 ");
    assert_none_arrived(&siege);
}

#[test]
fn heads_that_are_too_much_are_refused_at_once() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let fields: String = (0..200).map(|index| format!("x-{index}: a\r\n")).collect();
    let path = "a".repeat(9_000);
    let [many, long, endless, field, target] = siege.withstands([
        attack(at, "too many fields", format!("{HALF}{fields}\r\n")),
        attack(
            at,
            "a long target",
            format!("GET /hostile/{path} HTTP/1.1\r\nhost: a\r\n\r\n"),
        ),
        Attack {
            then: Then::Floods("x-flood: aaaaaaaaaaaaaaaa\r\n".repeat(1000).into()),
            ..attack(at, "a head without an end", HALF)
        },
        Attack {
            then: Then::Floods(vec![b'a'; 64 * 1024]),
            ..attack(at, "a field without an end", format!("{HALF}x: "))
        },
        Attack {
            then: Then::Floods(vec![b'a'; 64 * 1024]),
            ..attack(at, "a target without an end", "GET /hostile/")
        },
    ]);
    all_told(&many, "HTTP/1.1 431 ");
    all_told(&long, "HTTP/1.1 414 ");
    told_nothing_but(&endless, "HTTP/1.1 431 ");
    told_nothing_but(&field, "HTTP/1.1 431 ");
    told_nothing_but(&target, "HTTP/1.1 4");
    assert_none_arrived(&siege);
}

#[test]
fn requests_without_end_whose_answers_nobody_reads_end_with_the_time_to_read() {
    let mut siege = Siege::of(IMPATIENT);
    siege.nginx.serve_zeros("page", 64 << 10);
    let request = "GET /files/page HTTP/1.1\r\nhost: a\r\n\r\n";
    siege.withstands([Attack {
        clients: 32,
        then: Then::Floods(request.repeat(100).into()),
        reads: Reads::Nothing,
        ..attack(siege.ports.clear, "pipelines", request)
    }]);
}
