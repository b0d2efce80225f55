//! A reload changes what requests meet, and neither counters nor connections.

use tidegate_core::Timestamp;
use tidegate_server::clock::{Clock, ManualClock};

use crate::bed::{Bed, Wire, field};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

fn bed(policies: &str) -> Bed {
    let hand = ManualClock::starting_at(Timestamp::from_nanos(1_700_000_000_000_000_000));
    Bed::limited(policies, "", Clock::manual(hand), |_| {})
}

/// One policy, called `name`.
fn policy(name: &str, limit: &str) -> String {
    format!("policies: [{{ name: {name}, key: [client.ip], limit: {limit} }}]")
}

/// A client on one connection, whose requests reach the origin over one.
struct Caller<'a> {
    bed: &'a Bed,
    client: Wire,
    origin: Option<Wire>,
}

impl<'a> Caller<'a> {
    fn new(bed: &'a Bed) -> Self {
        Self {
            bed,
            client: bed.client(),
            origin: None,
        }
    }

    /// What remains after a request that passes.
    fn passes(&mut self) -> String {
        self.client.send(GET);
        let origin = self.origin.get_or_insert_with(|| self.bed.origin.accept());
        origin.head();
        origin.send(OK);
        let head = self.client.head();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        field(&head, "x-ratelimit-remaining")
            .unwrap_or_default()
            .to_owned()
    }

    /// How long a request that is refused has to wait.
    fn refused(&mut self) -> String {
        self.client.send(GET);
        let head = self.client.head();
        assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
        let length = field(&head, "content-length").unwrap().parse().unwrap();
        self.client.take(length);
        field(&head, "retry-after").unwrap().to_owned()
    }
}

#[test]
fn what_was_spent_counts_under_a_changed_quota_on_the_same_connection() {
    for algorithm in ["sliding_window_log", "sliding_window", "fixed_window"] {
        let limit = |quota: u32| {
            let limit = format!("{{ algorithm: {algorithm}, quota: {quota}, window: 1h }}");
            policy("api", &limit)
        };
        let bed = bed(&limit(3));
        let mut caller = Caller::new(&bed);
        assert_eq!(
            [caller.passes(), caller.passes(), caller.passes()],
            ["2", "1", "0"]
        );
        caller.refused();

        bed.reload(&limit(5), "");
        assert_eq!([caller.passes(), caller.passes()], ["1", "0"], "{algorithm}");
        caller.refused();

        bed.reload(&limit(2), "");
        caller.refused();
    }
}

#[test]
fn an_empty_bucket_fills_at_the_new_rate() {
    let bed = bed(&policy("api", "{ quota: 6, window: 1h }"));
    let mut caller = Caller::new(&bed);
    for left in (0..6).rev() {
        assert_eq!(caller.passes(), left.to_string());
    }
    assert_eq!(caller.refused(), "600");

    bed.reload(&policy("api", "{ quota: 60, window: 1h }"), "");
    assert_eq!(caller.refused(), "60");
}

#[test]
fn a_policy_with_another_name_counts_anew() {
    let bed = bed(&policy("old", "{ quota: 1, window: 1h }"));
    let mut caller = Caller::new(&bed);
    caller.passes();
    caller.refused();
    bed.reload(&policy("new", "{ quota: 1, window: 1h }"), "");
    caller.passes();
    bed.reload(&policy("old", "{ quota: 1, window: 1h }"), "");
    caller.refused();
}

#[test]
fn a_slot_taken_before_a_reload_is_given_back_after_it() {
    const ONE: &str = "{ algorithm: concurrency, slots: 1, ttl: 1h }";
    let bed = bed(&policy("one", ONE));
    let mut slow = bed.client();
    slow.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();

    bed.reload(
        &policy("one", "{ algorithm: concurrency, slots: 1, ttl: 2h }"),
        "",
    );
    let mut caller = Caller::new(&bed);
    caller.refused();
    origin.send(OK);
    slow.head();
    caller.origin = Some(origin);
    caller.passes();
}

#[test]
fn a_request_keeps_the_policies_it_began_with() {
    let bed = bed(&policy("old", "{ quota: 5, window: 1h }"));
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    bed.reload("policies: []", "");
    origin.send(OK);
    let answer = client.head();
    assert_eq!(field(&answer, "ratelimit-policy"), Some("\"old\";q=5;w=3600"));

    client.send(GET);
    origin.head();
    origin.send(OK);
    assert_eq!(field(&client.head(), "ratelimit-policy"), None);
}

#[test]
fn whom_to_trust_and_which_keys_are_known_changes_for_open_connections_too() {
    const ANYBODY: &str = "policies: []";
    const TRUSTING: &str = "
gateway: { trusted_proxies: [127.0.0.0/8] }
identity: { api_key: { header: x-api-key, keys: keys.yaml, on_missing: reject } }
policies: []
";
    const FORWARDED: &str = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Api-Key: key-of-acme-3eb1f0c26a57\r\n\r\n";
    let keys = {
        let digest = tidegate_policy::KeyDigest::new(b"key-of-acme-3eb1f0c26a57").unwrap();
        format!("[{{ hash: {digest}, subject: acme }}]")
    };
    let bed = bed(ANYBODY);
    let mut client = bed.client();
    client.send(FORWARDED);
    let mut origin = bed.origin.accept();
    assert_eq!(field(&origin.head(), "x-forwarded-for"), Some("127.0.0.1"));
    origin.send(OK);
    client.head();

    bed.reload(TRUSTING, &keys);
    client.send(FORWARDED);
    let asked = origin.head();
    assert_eq!(field(&asked, "x-forwarded-for"), Some("192.0.2.1, 127.0.0.1"));
    assert_eq!(field(&asked, "x-tidegate-subject"), Some("acme"));
    origin.send(OK);
    client.head();
    client.send(GET);
    assert!(client.head().starts_with("HTTP/1.1 401 "));
}
