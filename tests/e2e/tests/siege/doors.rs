//! At the check door, which reads questions whole.

use std::net::SocketAddr;

use tidegate_e2e::{Attack, Port, Siege, Then, Told};

use crate::{all_told, attack, told_nothing_but};

const HEAD: &str = "POST /v1/check HTTP/1.1\r\nhost: a\r\n";

/// A siege of a gateway that is impatient and has a check door, and where that is. Callers come from anywhere on this machine.
fn siege() -> (Siege, SocketAddr, Port) {
    let port = Port::claim();
    let at = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let settings = format!(
        "
  timeouts: {{ request_header: 2s, idle: 2s, policy_body: 2s }}
doors: {{ check: '{at}' }}"
    );
    (Siege::of(&settings), at, port)
}

#[test]
fn questions_that_do_not_come_are_given_up_on() {
    let (mut siege, at, _port) = siege();
    let body = format!("{HEAD}content-length: 10000\r\n\r\n{{");
    let [_, head, drip, stop] = siege.withstands([
        attack(at, "silence", ""),
        attack(at, "half a head", HEAD),
        Attack {
            then: Then::Drips(b" ".to_vec()),
            ..attack(at, "questions that drip", body.clone())
        },
        attack(at, "questions that stop", body),
    ]);
    for told in [head, drip, stop] {
        let told = decided(told);
        assert!(!told.is_empty());
        all_told(&told, "HTTP/1.1 408 ");
    }
}

#[test]
fn questions_that_are_too_much_are_refused() {
    let (mut siege, at, _port) = siege();
    let fields: String = (0..200).map(|index| format!("x-{index}: a\r\n")).collect();
    let deep = "[".repeat(10_000);
    let [many, announced, endless, nested] = siege.withstands([
        attack(at, "too many fields", format!("{HEAD}{fields}\r\n")),
        attack(
            at,
            "a large question, announced",
            format!("{HEAD}content-length: 10000000000\r\n\r\nx"),
        ),
        Attack {
            clients: 32,
            then: Then::Floods(format!("10000\r\n{}\r\n", " ".repeat(0x10000)).into()),
            ..attack(
                at,
                "a question without an end",
                format!("{HEAD}transfer-encoding: chunked\r\n\r\n"),
            )
        },
        attack(
            at,
            "a question that is all depth",
            format!("{HEAD}content-length: 10000\r\n\r\n{deep}"),
        ),
    ]);
    for (told, status) in [(many, 431), (announced, 413), (nested, 400)] {
        let told = decided(told);
        assert!(!told.is_empty());
        all_told(&told, &format!("HTTP/1.1 {status} "));
    }
    told_nothing_but(&decided(endless), "HTTP/1.1 413 ");
}

/// Those that were not told that too much is asked at once, which is true of a siege.
fn decided(told: Told) -> Told {
    let is_decided = |heard: &Vec<u8>| !heard.starts_with(b"HTTP/1.1 503 ");
    told.into_iter().filter(is_decided).collect()
}

#[test]
fn what_is_no_question_is_answered_or_cut() {
    let (mut siege, at, _port) = siege();
    let [garbage, tls, preface] = siege.withstands([
        attack(at, "bytes", [0xff; 100]),
        attack(
            at,
            "a TLS hello in clear",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        ),
        attack(
            at,
            "a preface and no HTTP/2",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxx",
        ),
    ]);
    for told in [garbage, tls, preface].iter().flatten() {
        assert!(!told.starts_with(b"HTTP/1.1 2"));
    }
}
