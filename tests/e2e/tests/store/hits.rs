//! Hits that Envoy gives back to limits which gateways share: its calls, by curl, over gRPC.

use std::fs;

use tidegate_e2e::{Gateway, curl, until};
use tidegate_test_servers::Server;

const ALGORITHMS: [(&str, &str); 6] = [
    (
        "token",
        "algorithm: token_bucket, quota: 10, window: 1h, burst: 10",
    ),
    (
        "leaky",
        "algorithm: leaky_bucket, quota: 10, window: 1h, burst: 10, max_delay: 1s",
    ),
    ("fixed", "algorithm: fixed_window, quota: 10, window: 1h"),
    ("sliding", "algorithm: sliding_window, quota: 10, window: 1h"),
    ("log", "algorithm: sliding_window_log, quota: 10, window: 1h"),
    ("slots", "algorithm: concurrency, slots: 10, ttl: 1h"),
];

/// A policy for descriptors named after each algorithm, in `redis`.
fn policies(redis: &Server, more: &str) -> String {
    let policies = ALGORITHMS.map(|(name, limit)| {
        format!("  - {{ name: {name}, match: {{ domain: shop, descriptor: [{name}] }}, {more}limit: {{ {limit} }} }}\n")
    });
    format!(
        "doors: {{ envoy: 0 }}\nstore: {{ redis: {}, timeout: 1s }}\npolicies:\n{}",
        redis.url(),
        policies.concat()
    )
}

/// What a descriptor asks for.
#[derive(Clone, Copy)]
enum Hits {
    Spent(u8),
    GivenBack(u8),
}

use Hits::{GivenBack, Spent};

/// A field of bytes in a message, by its number.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn message(descriptors: &[(&str, Hits)]) -> Vec<u8> {
    let descriptor = |&(name, hits): &(&str, Hits)| {
        let entry = [field(1, name.as_bytes()), field(2, b"ann")].concat();
        let (hits, is_negative) = match hits {
            Spent(hits) => (hits, 0),
            GivenBack(hits) => (hits, 1),
        };
        let parts = [
            field(1, &entry),
            field(3, &[1 << 3, hits]),
            vec![4 << 3, is_negative],
        ];
        field(2, &parts.concat())
    };
    let descriptors: Vec<u8> = descriptors.iter().flat_map(descriptor).collect();
    [field(1, b"shop"), descriptors].concat()
}

/// The message and the trailers that come back, as text.
fn call(door: &Gateway, descriptors: &[(&str, Hits)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("call");
    let message = message(descriptors);
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    fs::write(&file, [&[0], &length[..], &message].concat()).unwrap();
    let reply = curl(&[
        "--http2-prior-knowledge",
        "--data-binary",
        &format!("@{}", file.display()),
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
        &door.url("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
    ]);
    let status = reply.field("grpc-status").map(str::to_owned);
    assert_eq!(
        status, None,
        "the status of a call that fails comes first: {reply:?}"
    );
    assert!(reply.body.contains("grpc-status: 0"), "{reply:?}");
    reply.body
}

/// Whether the call passes, and what it leaves of the limit that decides.
fn asked(door: &Gateway, descriptors: &[(&str, Hits)]) -> (bool, u64) {
    let told = call(door, descriptors);
    // The first field of the message is the overall code.
    let code: Vec<char> = told.chars().skip(5).take(2).collect();
    let rest = told.to_ascii_lowercase();
    let (_, rest) = rest
        .split_once("x-ratelimit-remaining")
        .expect("a field for clients");
    let number = rest.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let digits = number.find(|letter: char| !letter.is_ascii_digit()).unwrap();
    (code == ['\u{8}', '\u{1}'], number[..digits].parse().unwrap())
}

#[test]
fn hits_come_back_through_whichever_gateway_under_every_algorithm() {
    let redis = Server::redis();
    let doors = [0, 1].map(|_| Gateway::doors(&policies(&redis, "")));
    for (name, _) in ALGORITHMS {
        let spend = |door: usize, hits| asked(&doors[door], &[(name, Spent(hits))]);
        let give_back = |door: usize, hits| asked(&doors[door], &[(name, GivenBack(hits))]);
        assert_eq!(
            give_back(0, 3),
            (true, 10),
            "{name}: an untouched counter stays as it is"
        );
        assert_eq!([spend(0, 4), spend(1, 4)], [(true, 6), (true, 2)], "{name}");
        assert_eq!(give_back(1, 5), (true, 7), "{name}: over both spendings");
        assert_eq!(spend(0, 7), (true, 0), "{name}");
        assert_eq!(spend(0, 1), (false, 0), "{name}");
        assert_eq!(give_back(0, 2), (true, 2), "{name}");
        let passed = [1, 1, 1].map(|hits| spend(0, hits).0);
        assert_eq!(
            passed,
            [true, true, false],
            "{name}: what this gateway refused before is let in"
        );
        assert_eq!(give_back(1, 100), (true, 10), "{name}: full is full");
    }
}

#[test]
fn one_call_gives_back_to_several_counters_and_spends_of_others() {
    let redis = Server::redis();
    let door = Gateway::doors(&policies(&redis, ""));
    let all = |hits: Hits| ALGORITHMS.map(|(name, _)| (name, hits));
    assert_eq!(asked(&door, &all(Spent(8))), (true, 2));
    call(&door, &all(GivenBack(3)));
    for (name, _) in ALGORITHMS {
        assert_eq!(asked(&door, &[(name, Spent(0))]), (true, 5), "{name}");
    }
    let both = [("fixed", GivenBack(2)), ("log", Spent(4))];
    assert_eq!(
        asked(&door, &both),
        (true, 1),
        "that of the log holds it back most"
    );
    let left = ["fixed", "log"].map(|name| asked(&door, &[(name, Spent(0))]).1);
    assert_eq!(left, [7, 1]);
}

#[test]
fn while_the_store_is_gone_hits_come_back_to_the_gateways_own_counters() {
    let redis = Server::redis();
    let text = policies(&redis, "on_store_failure: local, ");
    let door = Gateway::doors(&text.replace("timeout: 1s", "timeout: 100ms"));
    assert_eq!(asked(&door, &[("fixed", Spent(6))]), (true, 4));
    drop(redis);
    until("the gateway decides by itself", || {
        call(&door, &[("fixed", Spent(0))])
            .to_ascii_lowercase()
            .contains("x-tidegate-failure")
            .then_some(())
    });
    let full = asked(&door, &[("fixed", Spent(0))]).1;
    let (passes, left) = asked(&door, &[("fixed", Spent(1))]);
    assert_eq!((passes, left + 1), (true, full));
    let told = call(&door, &[("fixed", GivenBack(9))]).to_ascii_lowercase();
    assert!(told.contains("x-tidegate-failure"), "{told}");
    assert_eq!(asked(&door, &[("fixed", Spent(0))]).1, full, "full is full");
}
