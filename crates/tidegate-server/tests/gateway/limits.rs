//! Limits, from the policy file to the bytes on the wire.

use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_server::clock::{Clock, ManualClock};

use crate::bed::{Bed, Wire, field, fields};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A burst of ten, and one more every two seconds.
const TEN: &str = "
policies:
  - name: api
    key: [client.ip]
    limit: { quota: 30, window: 1m, burst: 10 }
";

/// One request at a time.
const ONE_AT_A_TIME: &str = "
policies:
  - name: one
    key: [client.ip]
    limit: { algorithm: concurrency, slots: 1, ttl: 1m }
";

fn stopped_clock() -> (Clock, ManualClock) {
    let hand = ManualClock::starting_at(Timestamp::from_nanos(1_700_000_000_000_000_000));
    (Clock::manual(hand.clone()), hand)
}

fn bed(policies: &str) -> (Bed, ManualClock) {
    let (clock, hand) = stopped_clock();
    (Bed::limited(policies, "", clock, |_| {}), hand)
}

/// Sends a request over a connection that both sides keep, and lets the origin, if it is asked, answer 200.
struct Caller {
    client: Wire,
    origin: Option<Wire>,
}

impl Caller {
    fn new(bed: &Bed) -> Self {
        Self {
            client: bed.client(),
            origin: None,
        }
    }

    fn pass(&mut self, bed: &Bed, request: &str) -> (String, String) {
        self.client.send(request);
        let origin = self.origin.get_or_insert_with(|| bed.origin.accept());
        let asked = origin.head();
        origin.send(OK);
        (asked, self.client.head())
    }

    fn refused(&mut self, request: &str) -> (String, String) {
        self.client.send(request);
        let head = self.client.head();
        let length = field(&head, "content-length").unwrap().parse().unwrap();
        let body = self.client.take(length);
        (head, body)
    }
}

#[test]
fn the_eleventh_quick_request_waits_as_long_as_it_is_told() {
    let (bed, hand) = bed(TEN);
    let mut caller = Caller::new(&bed);
    for left in (0..10).rev() {
        let (_, answer) = caller.pass(&bed, GET);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert_eq!(
            field(&answer, "x-ratelimit-remaining"),
            Some(left.to_string().as_str())
        );
    }
    let (head, body) = caller.refused(GET);
    assert!(head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{head}");
    assert_eq!(field(&head, "retry-after"), Some("2"));
    assert_eq!(field(&head, "x-ratelimit-limit"), Some("10"));
    assert_eq!(field(&head, "x-ratelimit-remaining"), Some("0"));
    assert_eq!(field(&head, "x-ratelimit-reset"), Some("1700000020"));
    assert!(field(&head, "ratelimit").is_some() && field(&head, "ratelimit-policy").is_some());
    assert!(body.contains(r#""error":"rate_limit_exceeded""#), "{body}");

    hand.advance(Duration::from_secs(2));
    let (_, answer) = caller.pass(&bed, GET);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let (head, _) = caller.refused(GET);
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
}

#[test]
fn the_form_of_the_fields_is_what_the_file_says() {
    let answers = "answers: { rate_limit: draft-07, x_rate_limit: omit }\n";
    let (bed, _) = bed(&format!("{answers}{TEN}"));
    let (_, answer) = Caller::new(&bed).pass(&bed, GET);
    assert_eq!(
        field(&answer, "ratelimit"),
        Some("limit=10, remaining=9, reset=2")
    );
    assert_eq!(field(&answer, "ratelimit-policy"), Some("30;w=60;burst=10"));
    assert_eq!(field(&answer, "x-ratelimit-limit"), None);
}

#[test]
fn a_head_request_is_refused_without_a_body() {
    let (bed, _) = bed(TEN);
    let mut caller = Caller::new(&bed);
    for _ in 0..10 {
        caller.pass(&bed, GET);
    }
    caller.client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = caller.client.head();
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    assert!(field(&head, "retry-after").is_some());
    assert_eq!(
        field(&head, "content-length").filter(|length| *length == "0"),
        None
    );
    // What comes next on the connection is the next response, not a body.
    let (head, _) = caller.refused(GET);
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
}

#[test]
fn limits_are_told_on_failures_of_the_upstream_too() {
    let (bed, _) = bed(TEN);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    drop(origin);
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert_eq!(field(&head, "x-ratelimit-remaining"), Some("9"));
}

#[test]
fn the_origin_is_told_the_verdict_and_nobody_else_can_tell_it() {
    let (bed, _) = bed(TEN);
    let (asked, _) = Caller::new(&bed).pass(
        &bed,
        "GET / HTTP/1.1\r\nHost: a\r\nX-Tidegate-Tier: gold\r\nx_tidegate_subject: root\r\nX-Tidegate-Verdict: shadow\r\n\
         Connection: x-tidegate-verdict, keep-alive\r\n\r\n",
    );
    let told: Vec<_> = fields(&asked)
        .into_iter()
        .filter(|line| line.starts_with("x-tidegate") || line.starts_with("x_tidegate"))
        .collect();
    assert_eq!(told, ["x-tidegate-remaining: 9", "x-tidegate-verdict: pass"]);
}

#[test]
fn a_refused_request_never_reaches_the_origin() {
    let (bed, _) = bed(TEN);
    let mut caller = Caller::new(&bed);
    for _ in 0..10 {
        caller.pass(&bed, GET);
    }
    let (head, _) = caller.refused("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    // The connection is still in step: its next request is read from where the refused one ended.
    let (head, body) = caller.refused(GET);
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    assert!(!body.is_empty());
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_refused_client_that_asked_before_sending_is_not_told_to_go_on() {
    let (bed, _) = bed(TEN);
    let mut caller = Caller::new(&bed);
    for _ in 0..10 {
        caller.pass(&bed, GET);
    }
    let (head, _) =
        caller.refused("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
}

#[test]
fn clients_behind_a_trusted_proxy_are_counted_apart_and_strangers_are_not() {
    const BEHIND: &str = "
gateway:
  trusted_proxies: [127.0.0.0/8]
policies:
  - name: api
    key: [client.ip]
    limit: { quota: 1, window: 1m, burst: 1 }
";
    let from = |address: &str| format!("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {address}\r\n\r\n");
    let (trusting, _) = bed(BEHIND);
    let mut caller = Caller::new(&trusting);
    let (asked, _) = caller.pass(&trusting, &from("192.0.2.1"));
    assert_eq!(field(&asked, "x-forwarded-for"), Some("192.0.2.1, 127.0.0.1"));
    caller.pass(&trusting, &from("192.0.2.2"));
    let (head, _) = caller.refused(&from("198.51.100.1, 192.0.2.1"));
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");

    let (strict, _) = bed(&BEHIND.replace("127.0.0.0/8", "10.0.0.0/8"));
    let mut caller = Caller::new(&strict);
    caller.pass(&strict, &from("192.0.2.1"));
    let (head, _) = caller.refused(&from("192.0.2.2"));
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
}

#[test]
fn a_limit_in_shadow_refuses_nobody_and_tells_only_the_origin() {
    let (bed, _) = bed("
policies:
  - name: soft
    mode: shadow
    key: [client.ip]
    limit: { quota: 1, window: 1m, burst: 1 }
");
    let mut caller = Caller::new(&bed);
    caller.pass(&bed, GET);
    let (asked, answer) = caller.pass(&bed, GET);
    assert_eq!(field(&asked, "x-tidegate-verdict"), Some("shadow"));
    assert_eq!(field(&asked, "x-tidegate-shadow"), Some("soft"));
    assert!(answer.starts_with("HTTP/1.1 200 "));
    assert_eq!(field(&answer, "x-ratelimit-remaining"), None);
}

#[test]
fn a_leaky_bucket_holds_requests_back_and_a_client_that_leaves_ends_its_wait() {
    let (bed, _) = bed("
policies:
  - name: even
    key: [client.ip]
    limit: { algorithm: leaky_bucket, quota: 10, window: 1s, burst: 1, max_delay: 1h }
");
    let mut caller = Caller::new(&bed);
    caller.pass(&bed, GET);
    let (asked, _) = caller.pass(&bed, GET);
    assert_eq!(field(&asked, "x-tidegate-verdict"), Some("delay"));

    let mut leaving = bed.client();
    leaving.send("GET /gone HTTP/1.1\r\nHost: a\r\n\r\n");
    leaving.finish();
    leaving.gone();
    // Its turn would come before this one's.
    let (asked, _) = caller.pass(&bed, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(asked.starts_with("GET /next "), "{asked}");
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_denied_client_gets_403_before_anything_else_and_an_allowed_one_is_not_counted() {
    let one = "
identity: { api_key: { header: x-api-key, keys: keys.yaml, on_missing: reject } }
policies:
  - name: one
    key: [client.ip]
    limit: { quota: 1, window: 1h }
";
    let denying = format!("access: {{ deny: 127.0.0.0/8, allow: 127.0.0.1 }}\n{one}");
    let denying = Bed::limited(&denying, "[]", stopped_clock().0, |_| {});
    let (head, body) = Caller::new(&denying).refused(GET);
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    assert_eq!(field(&head, "cache-control"), Some("no-store"));
    assert!(body.contains(r#""error":"access_denied""#), "{body}");

    let allowing = one.replace(", on_missing: reject", "");
    let allowing = format!("access: {{ allow: 127.0.0.1 }}\n{allowing}");
    let allowing = Bed::limited(&allowing, "[]", stopped_clock().0, |_| {});
    let mut caller = Caller::new(&allowing);
    for _ in 0..3 {
        let (_, answer) = caller.pass(&allowing, GET);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(field(&answer, "x-ratelimit-limit"), None);
    }
}

#[track_caller]
fn assert_free(bed: &Bed) {
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let head = client.head();
    assert!(
        head.starts_with("HTTP/1.1 200 "),
        "the slot was not given back: {head}"
    );
}

#[track_caller]
fn assert_taken(bed: &Bed) {
    let head = bed.answer(GET);
    assert!(head.starts_with("HTTP/1.1 429 "), "the slot is free: {head}");
}

#[test]
fn a_slot_is_held_until_the_response_body_has_ended() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    assert_taken(&bed);
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nh");
    client.head();
    assert_taken(&bed);
    origin.send("i");
    assert_eq!(client.take(2), "hi");
    assert_free(&bed);
}

#[test]
fn a_client_that_leaves_gives_its_slot_back() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    assert_taken(&bed);
    drop(client);
    origin.gone();
    assert_free(&bed);
}

#[test]
fn a_client_that_leaves_during_the_response_gives_its_slot_back() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
    client.until(b"he");
    assert_taken(&bed);
    client.reset();
    origin.gone();
    assert_free(&bed);
}

#[test]
fn an_upstream_that_fails_gives_the_slot_back() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    drop(origin);
    assert!(client.head().starts_with("HTTP/1.1 502 "));
    assert_free(&bed);
}

#[test]
fn an_upstream_that_breaks_off_gives_the_slot_back() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
    client.until(b"he");
    drop(origin);
    client.gone();
    assert_free(&bed);
}

#[test]
fn a_timeout_gives_the_slot_back() {
    let (clock, _) = stopped_clock();
    let bed = Bed::limited(ONE_AT_A_TIME, "", clock, |settings| {
        settings.timeouts.response = Duration::from_millis(80);
    });
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    assert!(client.head().starts_with("HTTP/1.1 504 "));
    assert_free(&bed);
}

#[test]
fn a_tunnel_holds_its_slot_until_it_ends() {
    let (bed, _) = bed(ONE_AT_A_TIME);
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.head();
    assert_taken(&bed);
    client.finish();
    origin.rest();
    origin.finish();
    client.rest();
    assert_free(&bed);
}

#[test]
fn a_key_that_is_to_be_stripped_does_not_reach_the_origin() {
    let hash = "sha256:14d61f7f7a6a7f2ea0ab4b3df1d8e0a4f9f2a0c2f6f3d6c1c0a7c1f3b2a19e4d";
    let file = "
identity: { api_key: { header: x-api-key, query: key, cookie: key, keys: keys.yaml, strip: true, on_unknown: anonymous } }
policies: []";
    let keys = format!("- {{ hash: '{hash}', subject: acme }}");
    let bed = Bed::limited(file, &keys, Clock::system(), |_| {});
    let asked = "GET /p?a=1&key=secret HTTP/1.1\r\nHost: a\r\nX-Api-Key: secret\r\nCookie: key=secret; b=2\r\nConnection: close\r\n\r\n";
    let seen = bed.pass(asked, "HTTP/1.1 204 No Content\r\n\r\n").seen_by_origin;
    assert!(seen.starts_with("GET /p?a=1 HTTP/1.1\r\n"), "{seen}");
    assert_eq!(crate::bed::field(&seen, "cookie"), Some("b=2"));
    assert!(!seen.contains("secret"), "{seen}");
}
