//! Calls that cannot be decided: an error, never an answer that says nothing.

use super::wire::Message;
use super::*;

const UNLIMITED: &str = "
policies:
  - { name: all, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 1000, window: 1m } }
";

const INVALID_ARGUMENT: u32 = 3;
const DEADLINE_EXCEEDED: u32 = 4;
const NOT_FOUND: u32 = 5;
const RESOURCE_EXHAUSTED: u32 = 8;
const UNIMPLEMENTED: u32 = 12;
const INTERNAL: u32 = 13;

fn user() -> Message {
    descriptor(&[("user", "ann")])
}

#[test]
fn what_is_missing_or_no_text_is_said() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let no_text = Message::new().with_message(1, &Message::new().with_bytes(1, b"\xff\xfe"));
    for (asked, said) in [
        (Message::new(), "the domain is empty"),
        (call("", &[user()]), "the domain is empty"),
        (call("shop", &[]), "there is no descriptor"),
        (call("shop", &[Message::new()]), "a descriptor has no entry"),
        (call("shop", &[descriptor(&[("", "x")])]), "an entry has no key"),
        (call("shop", &[no_text]), "a domain, key or value is no text"),
    ] {
        assert_eq!(
            envoy.call(RATE_LIMIT, &asked).status,
            (INVALID_ARGUMENT, said.to_owned())
        );
    }
    let empty_value = call("shop", &[descriptor(&[("user", "")])]);
    assert_eq!(envoy.call(RATE_LIMIT, &empty_value).ok().number(1), OK);
}

#[test]
fn each_bound_holds_at_its_edge() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let unlimited = descriptor(&[("other", "")]);
    let descriptors = |count| call("shop", &vec![unlimited.clone(); count]);
    let entries = |count| call("shop", &[descriptor(&vec![("k", "v"); count])]);
    let text = |bytes| call("shop", &[descriptor(&[("user", &"v".repeat(bytes))])]);
    let limits = |count| call("shop", &vec![user(); count]);
    let padded = |bytes: usize| {
        let call = call("shop", &[user()]);
        // A tag of two bytes, and a length of three.
        let missing = bytes - call.bytes().len() - 5;
        let padded = call.with_bytes(100, &vec![0; missing]);
        assert_eq!(padded.bytes().len(), bytes);
        padded
    };
    for (within, beyond) in [
        (padded(64 * 1024), padded(64 * 1024 + 1)),
        (descriptors(64), descriptors(65)),
        (entries(16), entries(17)),
        (text(4096), text(4097)),
        (limits(16), limits(17)),
    ] {
        assert_eq!(envoy.call(RATE_LIMIT, &within).status.0, 0);
        assert_eq!(envoy.call(RATE_LIMIT, &beyond).status.0, RESOURCE_EXHAUSTED);
    }
}

#[test]
fn bytes_that_are_no_message_are_an_error_of_their_call_alone() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let good = framed(call("shop", &[user()]).bytes());
    for (body, status) in [
        (framed(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), INTERNAL),
        (framed(b"\x0a\x7f"), INTERNAL),
        (framed(b"\x07"), INTERNAL),
        (good[..good.len() - 1].to_vec(), INTERNAL),
        (Vec::new(), INTERNAL),
        ([&[1], &good[1..]].concat(), INTERNAL),
        ([good.clone(), good.clone()].concat(), UNIMPLEMENTED),
        ([&good[..], &[0]].concat(), UNIMPLEMENTED),
    ] {
        assert_eq!(
            envoy.send(RATE_LIMIT, &[], body.clone()).status.0,
            status,
            "{body:?}"
        );
        assert_eq!(envoy.send(RATE_LIMIT, &[], good.clone()).status.0, 0);
    }
    let compressed = envoy.send(RATE_LIMIT, &[("grpc-encoding", "gzip")], good.clone());
    assert_eq!(compressed.status.0, UNIMPLEMENTED);
    assert_eq!(
        envoy
            .send(RATE_LIMIT, &[("grpc-encoding", "identity")], good)
            .status
            .0,
        0
    );
}

#[test]
fn a_message_may_come_in_any_pieces() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let good = framed(call("shop", &[user()]).bytes());
    for length in 1..good.len() {
        let pieces = good.chunks(length).map(Bytes::copy_from_slice).collect();
        assert_eq!(envoy.send_pieces(RATE_LIMIT, &[], pieces).ok().number(1), OK);
    }
}

#[test]
fn whatever_bytes_come_the_next_call_is_answered() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let good = call(
        "shop",
        &[user().with_message(2, &Message::new().with_number(1, 3).with_number(2, 1))],
    );
    let described = super::auth::get("/search?a=b").message();
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut below = |most: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % most as u64).unwrap()
    };
    for (path, message) in [
        (RATE_LIMIT, good.bytes()),
        (super::auth::CHECK, described.bytes()),
    ] {
        for _ in 0..400 {
            let mut bytes = message.to_vec();
            for _ in 0..=below(4) {
                let place = below(bytes.len());
                bytes[place] = below(256).to_le_bytes()[0];
            }
            bytes.truncate(bytes.len() - below(bytes.len()));
            envoy.send(path, &[], framed(&bytes));
        }
        assert_eq!(envoy.send(path, &[], framed(message)).status.0, 0);
    }
}

#[test]
fn methods_that_are_not_here_are_not_implemented() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    for path in [
        "/",
        "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit",
        "/grpc.health.v1.Health/List",
    ] {
        assert_eq!(envoy.call(path, &call("shop", &[user()])).status.0, UNIMPLEMENTED);
    }
}

#[test]
fn the_health_of_each_service_is_told() {
    let (mut bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let asked = |service: &str| Message::new().with_text(1, service);
    let path = "/grpc.health.v1.Health/Check";
    for service in [
        "",
        "envoy.service.ratelimit.v3.RateLimitService",
        "envoy.service.auth.v3.Authorization",
    ] {
        assert_eq!(envoy.call(path, &asked(service)).ok().number(1), 1);
    }
    assert_eq!(envoy.call(path, &asked("else")).status.0, NOT_FOUND);
    bed.ask_to_stop();
    assert!(bed.stopped().cut == 0);
}

#[test]
fn a_call_whose_message_does_not_come_ends_in_the_time_that_it_gave() {
    let (bed, _) = door(UNLIMITED);
    let mut envoy = Envoy::at(&bed);
    let request = Request::post(format!("http://tidegate{RATE_LIMIT}"))
        .header("content-type", "application/grpc")
        .header("grpc-timeout", "20m")
        .body(())
        .unwrap();
    let (answer, _upload) = envoy.calls.send_request(request, false).unwrap();
    let response = envoy.runtime.block_on(answer).unwrap();
    assert_eq!(
        response.headers()["grpc-status"],
        DEADLINE_EXCEEDED.to_string().as_str()
    );
}

#[test]
fn who_speaks_something_else_is_told_what_is_spoken_here() {
    let (bed, _) = door(UNLIMITED);
    let answer = bed.answer("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
}
