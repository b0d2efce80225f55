use http::{HeaderMap, Method};
use tidegate_core::{KeyHasher, Outcome};

use crate::answer::tests::NOW;
use crate::fixture::{decision, decisions, deny, fields, get, lines, plan};
use crate::{Answers, Policy, PolicyFile, Request, compile};

fn policies(text: &str) -> Vec<Policy> {
    let file = PolicyFile { name: "a.yaml", text };
    let compiled = compile(file, &KeyHasher::new([0; 16])).unwrap_or_else(|problems| panic!("{problems}"));
    compiled.config.policies.policies().to_vec()
}

fn policy(reject: &str) -> Vec<Policy> {
    policies(&format!(
        "policies: [{{ name: api, key: [client.ip], limit: {{ quota: 1, window: 2s, burst: 10 }}, reject: {{ {reject} }} }}]"
    ))
}

fn refused(policies: &[Policy], request: &Request<'_>) -> http::Response<bytes::Bytes> {
    let verdict = plan(policies).conclude(Ok(&decisions([deny(0, 1_500, 19_500)])));
    Answers::default().refuse(&verdict, request, NOW).unwrap()
}

fn text(answer: &http::Response<bytes::Bytes>) -> &str {
    std::str::from_utf8(answer.body()).unwrap()
}

#[test]
fn a_policy_refuses_in_its_own_words() {
    let own = policy(
        "status: 503, content_type: text/x-shop, body: 'Slow down, {{ policy }}: {{remaining}} of {{limit}} left, {{retry_after}} s, {{reset}}, {{status}}', headers: { x-shop: busy }",
    );
    let answer = refused(&own, &get(&HeaderMap::new()));
    assert_eq!(answer.status(), 503);
    assert_eq!(
        text(&answer),
        "Slow down, api: 0 of 10 left, 2 s, 1796040020, 503"
    );
    assert_eq!(
        lines(answer.headers()),
        "cache-control: no-store\ncontent-type: text/x-shop\nratelimit-policy: \"api\";q=1;w=2;tidegate-burst=10\n\
         ratelimit: \"api\";r=0;t=2\nretry-after: 2\nx-ratelimit-limit: 10\nx-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 1796040020\nx-shop: busy\n"
    );
}

#[test]
fn a_status_alone_keeps_the_usual_body() {
    let answer = refused(&policy("status: 403"), &get(&HeaderMap::new()));
    assert_eq!(answer.status(), 403);
    assert!(
        text(&answer).contains("\"status\":403,\"error\":\"rate_limit_exceeded\""),
        "{}",
        text(&answer)
    );
    let headers = fields(&[("accept", "text/html")]);
    let page = refused(&policy("status: 403"), &get(&headers));
    assert!(
        text(&page).contains("403 · rate_limit_exceeded"),
        "{}",
        text(&page)
    );
}

#[test]
fn what_is_missing_is_null_in_json_and_a_word_elsewhere() {
    for (content_type, expected) in [("application/vnd.shop+json", "[null]"), ("text/plain", "[never]")] {
        let own = policy(&format!(
            "content_type: {content_type}, body: '[{{{{retry_after}}}}]'"
        ));
        let never = plan(&own).conclude(Ok(&decisions([decision(Outcome::Never, 1, 0)])));
        let answer = Answers::default()
            .refuse(&never, &get(&HeaderMap::new()), NOW)
            .unwrap();
        assert_eq!(text(&answer), expected);
    }
}

#[test]
fn the_words_of_all_policies_give_way_to_those_of_one() {
    let both = policies(
        "answers: { reject: { status: 403 } }
policies:
  - { name: a, key: [client.ip], limit: { quota: 1, window: 1s } }
  - { name: b, key: [client.ip], limit: { quota: 1, window: 1s }, reject: { status: 503 } }",
    );
    for (policy, status) in both.iter().zip([403, 503]) {
        let answer = refused(std::slice::from_ref(policy), &get(&HeaderMap::new()));
        assert_eq!(answer.status(), status);
    }
}

#[test]
fn grpc_clients_and_head_get_what_they_understand() {
    let own = policy("status: 503, body: 'Slow down'");
    let headers = fields(&[("content-type", "application/grpc")]);
    let call = Request {
        method: &Method::POST,
        ..get(&headers)
    };
    let answer = refused(&own, &call);
    assert_eq!(
        (
            answer.status().as_u16(),
            answer.headers()["grpc-status"].as_bytes()
        ),
        (200, &b"8"[..])
    );
    let headers = HeaderMap::new();
    let head = Request {
        method: &Method::HEAD,
        ..get(&headers)
    };
    let answer = refused(&own, &head);
    assert_eq!(answer.status(), 503);
    assert!(answer.body().is_empty());
}
