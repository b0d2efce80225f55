//! HTTP/2: frames that ask for nothing, heads that do not end, and streams that nobody takes.

use tidegate_e2e::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW, PING, PRIORITY, RESET, SETTINGS,
    WINDOW, frame, get, goaway, hello, hello_with, post, request, streams,
};
use tidegate_e2e::{Attack, Reads, Siege, Then};

use crate::{AFTER_A_REST, IMPATIENT, attack};

const ENHANCE_YOUR_CALM: u32 = 11;
const CANCEL: [u8; 4] = [0, 0, 0, 8];

fn join(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    frames.into_iter().flatten().collect()
}

#[test]
fn floods_of_heads_end_the_connection_at_once() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let resets = streams(10_000).flat_map(|stream| [get(stream, "/"), frame(RESET, 0, stream, &CANCEL)]);
    let head = frame(HEADERS, END_STREAM, 1, &request("GET", "/"));
    let [resets, continuations] = siege.withstands([
        attack(at, "rapid reset", [hello(), join(resets)].concat()),
        Attack {
            then: Then::Floods(frame(CONTINUATION, 0, 1, b"").repeat(1000)),
            ..attack(at, "continuations without an end", [hello(), head].concat())
        },
    ]);
    for told in [resets, continuations] {
        let codes: Vec<_> = told.iter().filter_map(|heard| goaway(heard)).collect();
        assert!(
            !codes.is_empty() && codes.iter().all(|code| *code == ENHANCE_YOUR_CALM),
            "{codes:?}"
        );
    }
}

#[test]
fn floods_of_frames_that_ask_for_nothing_end_like_a_rest() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.clear;
    let floods = [
        ("settings", frame(SETTINGS, 0, 0, b"")),
        ("pings", frame(PING, 0, 0, &[0; 8])),
        ("empty data", frame(DATA, 0, 1, b"")),
        ("window updates", frame(WINDOW, 0, 0, &[0, 0, 0, 1])),
        ("priorities", frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 1])),
        ("frames of no kind", frame(99, 0, 0, b"what")),
    ];
    for reads in [Reads::All, Reads::Nothing] {
        siege.withstands(floods.each_ref().map(|(name, flood)| Attack {
            clients: 8,
            then: Then::Floods(flood.repeat(1000)),
            reads,
            within: AFTER_A_REST,
            ..attack(at, name, [hello(), post(1, "/")].concat())
        }));
    }
}

#[test]
fn streams_that_nobody_takes_or_ends_are_given_up() {
    let mut siege = Siege::of(IMPATIENT);
    siege.nginx.serve_zeros("large", 1 << 20);
    let at = siege.ports.clear;
    let gets = join(streams(64).map(|stream| get(stream, "/files/large")));
    let posts = join(streams(300).map(|stream| post(stream, "/uploads/hostile")));
    let shut = hello_with(&[(INITIAL_WINDOW, 0)]);
    siege.withstands([
        Attack {
            clients: 4,
            within: AFTER_A_REST,
            ..attack(at, "windows that stay shut", [shut, gets].concat())
        },
        Attack {
            clients: 4,
            within: AFTER_A_REST,
            ..attack(at, "streams that do not end", [hello(), posts].concat())
        },
        Attack {
            then: Then::HalfCloses,
            ..attack(
                at,
                "half a request and half a close",
                [hello(), post(1, "/")].concat(),
            )
        },
    ]);
}

#[test]
fn a_head_that_grows_when_it_is_unpacked_never_arrives() {
    let mut siege = Siege::of(IMPATIENT);
    // One field of 4,000 bytes goes into the table, and then is named by one byte, again and again.
    let mut bomb = request("GET", "/hostile");
    bomb.extend(b"\x40\x01x\x7f\xa1\x1e");
    bomb.extend([b'a'; 4000]);
    bomb.extend([0xbe; 12_000]);
    let bomb = frame(HEADERS, END_HEADERS | END_STREAM, 1, &bomb);
    siege.withstands([attack(
        siege.ports.clear,
        "a head that grows",
        [hello(), bomb].concat(),
    )]);
    assert!(siege.nginx.log().iter().all(|line| !line.contains("/hostile")));
}
