//! Requests that Envoy describes.

use super::wire::{Fields, Message};
use super::*;

pub(super) const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
const POLICIES: &str = "
identity: { api_key: { header: x-api-key, query: key, cookie: key, keys: keys.yaml, strip: true } }
policies:
  - { name: search, match: { path: /search }, key: [client.ip], limit: { algorithm: fixed_window, quota: 2, window: 1h } }
  - { name: tenants, match: { path: /tenant }, key: [header.x-tenant], limit: { algorithm: fixed_window, quota: 1, window: 1h } }
";

/// A request as Envoy describes it.
#[derive(Clone)]
pub(super) struct Described {
    http: Message,
    source: &'static str,
    more: Message,
}

pub(super) fn get(path: &str) -> Described {
    let http = Message::new()
        .with_text(1, "1234")
        .with_text(2, "GET")
        .with_text(4, path)
        .with_text(5, "shop.test")
        .with_text(6, "http")
        .with_text(10, "HTTP/1.1");
    Described {
        http,
        source: "203.0.113.5",
        more: Message::new(),
    }
    .with_header(":path", path)
}

impl Described {
    fn with_header(mut self, name: &str, value: &str) -> Self {
        let entry = Message::new().with_text(1, name).with_text(2, value);
        self.http = self.http.with_message(3, &entry);
        self
    }

    pub(super) fn message(&self) -> Message {
        let address =
            Message::new().with_message(1, &Message::new().with_text(2, self.source).with_number(3, 4711));
        let attributes = Message::new()
            .with_message(1, &Message::new().with_message(1, &address))
            .with_message(4, &Message::new().with_message(2, &self.http));
        let all = [attributes.bytes(), self.more.bytes()].concat();
        Message::new().with_bytes(1, &all)
    }
}

/// The value of a field among options, and what becomes of another of its name.
fn option<'f>(options: &[&'f Fields], name: &str) -> Option<(&'f str, u64)> {
    let mut found = options
        .iter()
        .filter(|option| option.message(1).unwrap().text(1) == name);
    let option = found.next()?;
    assert!(found.next().is_none(), "{name} comes twice");
    Some((option.message(1).unwrap().text(2), option.number(3)))
}

/// `OVERWRITE_IF_EXISTS_OR_ADD`.
const OVERWRITE: u64 = 2;

#[test]
fn a_request_that_may_pass_is_told_to_its_origin_and_its_client() {
    let (bed, _) = door(POLICIES);
    let mut envoy = Envoy::at(&bed);
    let lie = get("/search?q=1")
        .with_header("x-tidegate-tier", "gold")
        .with_header("x_tidegate_verdict", "pass");
    let reply = envoy.call(CHECK, &lie.message()).ok();
    assert_eq!(reply.message(1).map_or(0, |status| status.number(1)), 0);
    let ok = reply.message(3).unwrap();
    let for_origin = ok.messages(2);
    assert_eq!(
        option(&for_origin, "x-tidegate-verdict"),
        Some(("pass", OVERWRITE))
    );
    assert_eq!(
        option(&for_origin, "x-tidegate-remaining"),
        Some(("1", OVERWRITE))
    );
    assert_eq!(ok.texts(5), ["x-tidegate-tier", "x_tidegate_verdict"]);
    let for_client = ok.messages(6);
    assert_eq!(option(&for_client, "x-ratelimit-limit"), Some(("2", OVERWRITE)));
    assert_eq!(
        option(&for_client, "x-ratelimit-remaining"),
        Some(("1", OVERWRITE))
    );
    assert!(reply.message(2).is_none() && reply.message(5).is_none());
}

#[test]
fn a_request_that_may_not_gets_the_response_that_the_gateway_gives() {
    let (bed, _) = door(POLICIES);
    let mut envoy = Envoy::at(&bed);
    for _ in 0..2 {
        assert!(
            envoy
                .call(CHECK, &get("/search").message())
                .ok()
                .message(3)
                .is_some()
        );
    }
    let html = get("/search").with_header("accept", "text/html");
    let reply = envoy.call(CHECK, &html.message()).ok();
    // RESOURCE_EXHAUSTED.
    assert_eq!(reply.message(1).unwrap().number(1), 8);
    let denied = reply.message(2).unwrap();
    assert_eq!(denied.message(1).unwrap().number(1), 429);
    assert_eq!(
        option(&denied.messages(2), "retry-after").map(|(_, action)| action),
        Some(OVERWRITE)
    );
    assert_eq!(
        option(&denied.messages(2), "content-type"),
        Some(("text/html; charset=utf-8", OVERWRITE))
    );
    assert!(denied.text(3).contains("<html"), "{}", denied.text(3));
    assert!(reply.message(3).is_none() && reply.message(5).is_none());
    let other = Described {
        source: "203.0.113.6",
        ..get("/search")
    };
    assert!(
        envoy.call(CHECK, &other.message()).ok().message(3).is_some(),
        "another client"
    );
}

#[test]
fn api_keys_are_known_and_go_no_further() {
    let key = "tg_0123456789abcdefghij";
    let digest = tidegate_policy::KeyDigest::new(key.as_bytes()).unwrap();
    let keys = format!("[{{ hash: '{digest}', subject: acme }}]");
    let bed = Bed::limited(POLICIES, &keys, Clock::system(), at_the_door);
    let mut envoy = Envoy::at(&bed);
    let unknown = get("/search").with_header("x-api-key", "tg_jihgfedcba9876543210");
    let reply = envoy.call(CHECK, &unknown.message()).ok();
    // UNAUTHENTICATED.
    assert_eq!(reply.message(1).unwrap().number(1), 16);
    assert_eq!(reply.message(2).unwrap().message(1).unwrap().number(1), 401);

    let known = get(&format!("/search?a=1&key={key}"))
        .with_header("x-api-key", key)
        .with_header("cookie", &format!("a=1; key={key}; b=2"));
    let reply = envoy.call(CHECK, &known.message()).ok();
    let ok = reply.message(3).unwrap();
    assert_eq!(
        option(&ok.messages(2), "x-tidegate-subject"),
        Some(("acme", OVERWRITE))
    );
    assert_eq!(option(&ok.messages(2), "cookie"), Some(("a=1; b=2", OVERWRITE)));
    assert_eq!(ok.texts(5), ["x-api-key"]);
    assert_eq!(ok.texts(8), ["key"]);

    // Envoy takes a parameter off by its name as it is written.
    let spelled = get(&format!("/elsewhere?a=1&k%65y={key}"));
    let reply = envoy.call(CHECK, &spelled.message()).ok();
    assert_eq!(reply.message(3).unwrap().texts(8), ["k%65y"]);
}

fn with(field: u64, text: &str) -> Described {
    let mut described = get("/");
    described.http = described.http.with_text(field, text);
    described
}

#[test]
fn what_describes_no_request_is_an_error() {
    let (bed, _) = door(POLICIES);
    let mut envoy = Envoy::at(&bed);
    assert_eq!(envoy.call(CHECK, &get("/").message()).status.0, 0);
    for asked in [with(2, "").message(), with(4, "").message(), Message::new()] {
        assert_eq!(envoy.call(CHECK, &asked).status.0, 3, "{:?}", asked.bytes());
    }
}

#[test]
fn a_request_that_no_gateway_takes_may_not_pass_and_is_no_error() {
    let (bed, _) = door(POLICIES);
    let mut envoy = Envoy::at(&bed);
    for (described, status, word) in [
        (with(2, "G T"), 400, "bad_target"),
        (with(4, "search"), 400, "bad_target"),
        (with(4, "/search?a=<"), 400, "bad_target"),
        (with(4, "http://elsewhere.test/"), 400, "bad_target"),
        (with(4, &format!("/{}", "a".repeat(8192))), 414, "target_too_long"),
        (with(5, "a b"), 400, "bad_host"),
        (get("/").with_header("a b", ""), 400, "bad_field"),
        (get("/").with_header("a", "b\0"), 400, "bad_field"),
    ] {
        let reply = envoy.call(CHECK, &described.message()).ok();
        let denied = reply.message(2).unwrap();
        assert_eq!(denied.message(1).unwrap().number(1), status, "{word}");
        let said = format!(r#""error":"{word}""#);
        assert!(denied.text(3).contains(&said), "{}", denied.text(3));
        assert!(option(&denied.messages(2), "connection").is_none());
    }
    let many = (0..100).fold(get("/"), |described, number| {
        described.with_header(&format!("x-{number}"), "")
    });
    let reply = envoy.call(CHECK, &many.message()).ok();
    assert_eq!(
        reply.message(2).unwrap().message(1).unwrap().number(1),
        431,
        "100 fields and the host"
    );
}

#[test]
fn bodies_are_looked_at_as_far_as_the_proxy_sends_them() {
    let (bed, _) = door(
        "policies:
  - { name: a, match: { method: POST, body: { json.kind: a } }, body: { max_bytes: 64 }, key: [client.ip], limit: { algorithm: fixed_window, quota: 1, window: 1h } }",
    );
    let mut envoy = Envoy::at(&bed);
    let mut limited = |field: u64, body: &str, (partial, whole): (&str, usize)| {
        let mut described = get("/").with_header("content-type", "application/json");
        described = described.with_header("x-envoy-auth-partial-body", partial);
        if whole > 0 {
            described = described.with_header("content-length", &whole.to_string());
        }
        described.http = described.http.with_text(2, "POST").with_text(field, body);
        let reply = envoy.call(CHECK, &described.message()).ok();
        let ok = reply
            .message(3)
            .map(|ok| option(&ok.messages(6), "x-ratelimit-remaining").is_some());
        (
            ok,
            reply
                .message(2)
                .map(|denied| denied.message(1).unwrap().number(1)),
        )
    };
    assert_eq!(limited(11, r#"{"kind":"b"}"#, ("false", 12)), (Some(false), None));
    assert_eq!(limited(11, r#"{"kind":"a"}"#, ("false", 12)), (Some(true), None));
    assert_eq!(limited(12, r#"{"kind":"a"}"#, ("false", 0)), (None, Some(429)));
    // Cut: longer than what the policy looks at.
    assert_eq!(limited(11, r#"{"kind":"b""#, ("true", 0)), (None, Some(413)));
    // Cut as well: Envoy has read what it may, and does not know yet that more comes.
    assert_eq!(limited(11, r#"{"kind":"b"}"#, ("false", 13)), (None, Some(413)));
    // Nothing is sent, and nobody knows what is in it: it may be what the policy counts.
    assert_eq!(limited(11, "", ("false", 0)), (None, Some(429)));
}
