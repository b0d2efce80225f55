//! What a client sees when its request is refused.

use http::{HeaderMap, Method, Response, StatusCode};
use tidegate_core::{Decisions, Limit, Mode, Outcome};

use super::NOW;
use crate::fixture::{allow, bucket, decision, decisions, deny, fields, get, lines, plan, policy, rate};
use crate::{Answers, OnStoreFailure, Plan, Policy, Refusal, Request, StoreFailure};

pub(super) type Answer = Response<bytes::Bytes>;

fn refusal(
    plan: &Plan<'_>,
    answer: Result<&Decisions, StoreFailure>,
    request: &Request<'_>,
) -> Option<Answer> {
    Answers::default().refuse(&plan.conclude(answer), request, NOW)
}

fn refused(policies: &[Policy], each: &Decisions) -> Answer {
    refusal(&plan(policies), Ok(each), &get(&HeaderMap::new())).unwrap()
}

pub(super) fn body(answer: &Answer) -> &str {
    std::str::from_utf8(answer.body()).unwrap()
}

#[test]
fn a_used_up_limit_is_429_with_the_time_to_wait() {
    let answer = refused(
        &[bucket("api", 1, 2_000, 10)],
        &decisions([deny(0, 1_500, 19_500)]),
    );
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        lines(answer.headers()),
        "cache-control: no-store\n\
         content-type: application/json\n\
         ratelimit-policy: \"api\";q=1;w=2;tidegate-burst=10\n\
         ratelimit: \"api\";r=0;t=2\n\
         retry-after: 2\n\
         x-ratelimit-limit: 10\n\
         x-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 1796040020\n"
    );
    assert_eq!(
        body(&answer),
        "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\"title\":\"Quota exceeded\",\
         \"status\":429,\"error\":\"rate_limit_exceeded\",\"retry_after\":2,\"violated-policies\":[\"api\"],\
         \"detail\":\"The limit 'api' is used up. Try again in 2 seconds.\",\
         \"message\":\"The limit 'api' is used up. Try again in 2 seconds.\"}"
    );
}

#[test]
fn the_manual_shows_the_very_bytes() {
    let manual = include_str!("../../../../../docs/answers.md");
    let answer = refused(
        &[bucket("api", 1, 2_000, 10)],
        &decisions([deny(0, 1_500, 19_500)]),
    );
    assert!(manual.contains(body(&answer)));
    for (name, value) in answer.headers() {
        let line = format!("\n{name}: {}\n", value.to_str().unwrap()).to_lowercase();
        assert!(manual.to_lowercase().contains(&line), "{line}");
    }
}

#[test]
fn the_wait_is_never_zero_and_is_rounded_up() {
    for (wait_ms, secs) in [
        (0, "1"),
        (1, "1"),
        (999, "1"),
        (1_000, "1"),
        (1_001, "2"),
        (59_999, "60"),
    ] {
        let answer = refused(
            &[bucket("api", 60, 60_000, 10)],
            &decisions([deny(0, wait_ms, 60_000)]),
        );
        assert_eq!(answer.headers()["retry-after"], secs, "{wait_ms} ms");
    }
}

#[test]
fn jitter_makes_waits_longer_by_up_to_its_share_and_spreads_them() {
    let answers = Answers {
        retry_jitter_percent: 50,
        ..Answers::default()
    };
    let policies = [bucket("api", 1, 100_000, 1)];
    let verdict_plan = plan(&policies);
    let verdict = verdict_plan.conclude(Ok(&decisions([deny(0, 100_000, 100_000)])));
    let mut seen = std::collections::BTreeSet::new();
    for moment in 0..1_000 {
        let now = NOW.saturating_add(std::time::Duration::from_micros(moment));
        let answer = answers.refuse(&verdict, &get(&HeaderMap::new()), now).unwrap();
        seen.insert(
            answer.headers()["retry-after"]
                .to_str()
                .unwrap()
                .parse::<u64>()
                .unwrap(),
        );
    }
    assert!(
        *seen.first().unwrap() >= 100 && *seen.last().unwrap() <= 150,
        "{seen:?}"
    );
    assert!(seen.len() >= 45, "{seen:?}");
}

#[test]
fn one_second_is_singular() {
    let answer = refused(
        &[bucket("api", 60, 60_000, 10)],
        &decisions([deny(0, 1_000, 10_000)]),
    );
    assert!(
        body(&answer).ends_with("Try again in 1 second.\"}"),
        "{}",
        body(&answer)
    );
}

#[test]
fn of_several_violated_limits_the_longest_wait_counts_and_only_they_are_told() {
    let policies = [
        bucket("second", 1, 1_000, 1),
        bucket("calm", 9, 60_000, 9),
        bucket("minute", 5, 60_000, 5),
    ];
    let answer = refused(
        &policies,
        &decisions([deny(0, 700, 700), allow(4, 9_000), deny(0, 11_100, 60_000)]),
    );
    assert_eq!(answer.headers()["retry-after"], "12");
    assert_eq!(
        answer.headers()["ratelimit"],
        "\"second\";r=0;t=1, \"minute\";r=0;t=12"
    );
    assert_eq!(
        answer.headers()["ratelimit-policy"],
        "\"second\";q=1;w=1, \"calm\";q=9;w=60, \"minute\";q=5;w=60"
    );
    assert_eq!(answer.headers()["x-ratelimit-limit"], "5");
    assert!(
        body(&answer).contains("\"violated-policies\":[\"second\",\"minute\"]"),
        "{}",
        body(&answer)
    );
    assert!(
        body(&answer).contains("The limit 'minute' is used up."),
        "{}",
        body(&answer)
    );
}

#[test]
fn a_request_that_can_never_pass_is_told_so_and_not_when_to_come_back() {
    let policies = [bucket("api", 60, 60_000, 10), bucket("other", 1, 1_000, 1)];
    let answer = refused(
        &policies,
        &decisions([decision(Outcome::Never, 10, 0), deny(0, 500, 500)]),
    );
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers().get("retry-after"), None);
    assert_eq!(answer.headers()["x-ratelimit-remaining"], "10");
    assert_eq!(
        body(&answer),
        "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\"title\":\"Quota exceeded\",\
         \"status\":429,\"error\":\"cost_exceeds_limit\",\"violated-policies\":[\"api\",\"other\"],\
         \"detail\":\"This request costs more than the limit 'api' ever holds. Waiting does not help.\",\
         \"message\":\"This request costs more than the limit 'api' ever holds. Waiting does not help.\"}"
    );
}

#[test]
fn a_failed_limiter_is_503_and_not_a_limit() {
    let mut policies = [bucket("api", 60, 60_000, 10), bucket("login", 5, 60_000, 5)];
    policies[1].on_store_failure = OnStoreFailure::Deny;
    let answer = refusal(
        &plan(&policies),
        Err(StoreFailure::Timeout),
        &get(&HeaderMap::new()),
    )
    .unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        lines(answer.headers()),
        "cache-control: no-store\ncontent-type: application/json\nx-tidegate-failure: timeout\n"
    );
    assert_eq!(
        body(&answer),
        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"error\":\"limiter_failed\",\
         \"detail\":\"The rate limiter could not decide. No limit of yours is used up.\",\
         \"message\":\"The rate limiter could not decide. No limit of yours is used up.\"}"
    );
}

#[test]
fn a_limit_that_this_instance_counts_by_itself_is_marked_where_it_refuses() {
    let policies = [bucket("api", 60, 60_000, 10)];
    let (plan, alone) = (plan(&policies), decisions([deny(0, 500, 9_500)]));
    let mut verdict = plan.conclude(Ok(&alone));
    verdict.failure = Some(StoreFailure::Unavailable);
    let headers = HeaderMap::new();
    let answer = Answers::default().refuse(&verdict, &get(&headers), NOW).unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["x-tidegate-failure"], "unavailable");
    assert_eq!(answer.headers()["retry-after"], "1");
}

#[test]
fn a_request_without_what_a_policy_counts_by_is_400() {
    let policies = [bucket("api", 60, 60_000, 10)];
    let refusal_of_plan = Refusal::MissingKeyPart {
        policy: &policies[0],
        part: "header.x-tenant",
    };
    let plan = Plan {
        refusal: Some(refusal_of_plan),
        ..Plan::default()
    };
    let answer = refusal(&plan, Ok(&Decisions::default()), &get(&HeaderMap::new())).unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        lines(answer.headers()),
        "cache-control: no-store\ncontent-type: application/json\n"
    );
    assert!(
        body(&answer).contains(
            "\"error\":\"missing_key_part\",\"detail\":\"The policy 'api' counts by header.x-tenant, "
        ),
        "{}",
        body(&answer)
    );
}

#[test]
fn any_text_of_a_policy_file_becomes_json() {
    let policies = [bucket("a\"b\\c\u{1}\u{7f}\té", 60, 60_000, 10)];
    let refusal_of_plan = Refusal::MissingKeyPart {
        policy: &policies[0],
        part: "\"\n",
    };
    let missing = Plan {
        refusal: Some(refusal_of_plan),
        ..Plan::default()
    };
    let limited = plan(&policies);
    for answer in [
        refusal(&missing, Ok(&Decisions::default()), &get(&HeaderMap::new())).unwrap(),
        refusal(
            &limited,
            Ok(&decisions([deny(0, 1_000, 1_000)])),
            &get(&HeaderMap::new()),
        )
        .unwrap(),
    ] {
        let body: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
        let detail = body["detail"].as_str().unwrap();
        assert!(detail.contains("'a\"b\\c\u{1}\u{7f}\té'"), "{detail}");
    }
}

#[test]
fn an_ambiguous_path_is_400() {
    let plan = Plan {
        refusal: Some(Refusal::AmbiguousPath),
        ..Plan::default()
    };
    let answer = refusal(&plan, Ok(&Decisions::default()), &get(&HeaderMap::new())).unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert!(body(&answer).contains("\"error\":\"ambiguous_path\""));
}

#[test]
fn a_body_too_long_to_be_looked_at_is_413() {
    let policies = [bucket("login", 60, 60_000, 10)];
    let plan = Plan {
        refusal: Some(Refusal::BodyTooLarge {
            policy: &policies[0],
            max_bytes: 65_536,
        }),
        ..Plan::default()
    };
    let answer = refusal(&plan, Ok(&Decisions::default()), &get(&HeaderMap::new())).unwrap();
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let told = body(&answer);
    assert!(told.contains("\"error\":\"body_too_large\""), "{told}");
    assert!(
        told.contains("The policy 'login' looks at bodies of at most 65536 bytes."),
        "{told}"
    );
}

#[test]
fn what_passes_is_not_refused() {
    let mut policies = [bucket("api", 60, 60_000, 10), bucket("trial", 1, 60_000, 1)];
    policies[1].mode = Mode::Shadow;
    let each = decisions([allow(9, 1_000), deny(0, 9_000, 9_000)]);
    assert!(refusal(&plan(&policies), Ok(&each), &get(&HeaderMap::new())).is_none());
    assert!(
        refusal(
            &plan(&policies),
            Err(StoreFailure::Unavailable),
            &get(&HeaderMap::new())
        )
        .is_none()
    );
}

#[test]
fn a_shadow_limit_changes_no_refusal() {
    let mut policies = [bucket("api", 1, 2_000, 10), bucket("trial", 1, 60_000, 1)];
    policies[1].mode = Mode::Shadow;
    let with = refused(
        &policies,
        &decisions([deny(0, 1_500, 19_500), deny(0, 60_000, 60_000)]),
    );
    let without = refused(&policies[..1], &decisions([deny(0, 1_500, 19_500)]));
    assert_eq!(lines(with.headers()), lines(without.headers()));
    assert_eq!(with.body(), without.body());
}

#[test]
fn head_gets_the_fields_without_the_body() {
    let policies = [policy("day", Limit::fixed_window(rate(5, 86_400_000)))];
    let headers = HeaderMap::new();
    let request = Request {
        method: &Method::HEAD,
        ..get(&headers)
    };
    let answer = refusal(
        &plan(&policies),
        Ok(&decisions([deny(0, 1_500, 1_500)])),
        &request,
    )
    .unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.headers()["retry-after"], "2");
    assert!(answer.body().is_empty());
}

#[test]
fn the_media_type_follows_accept() {
    let (json, problem) = ("application/json", "application/problem+json");
    let (html, plain) = ("text/html; charset=utf-8", "text/plain; charset=utf-8");
    for (accept, expected) in [
        ("", json),
        ("*/*", json),
        ("application/*", json),
        ("text/html", html),
        ("text/plain", plain),
        ("text/*", plain),
        ("text/html;q=0", json),
        // Firefox and Chrome, axios, and what programs send that take a page but like JSON better.
        (
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
            html,
        ),
        ("application/json, text/plain, */*", json),
        ("text/html, application/json", json),
        ("text/html, application/json;q=0.9", html),
        ("text/html, */*", html),
        ("text/html;q=0.9, */*", json),
        ("image/avif,image/webp,*/*;q=0.8", json),
        ("application/problem+json", problem),
        ("APPLICATION/PROBLEM+JSON", problem),
        ("application/problem+json;charset=utf-8", problem),
        ("application/json, application/problem+json", problem),
        ("application/problem+json;q=0.5, application/json", json),
        (
            "application/problem+json ; q=0.9, application/json;q=0.8",
            problem,
        ),
        ("application/problem+json;Q=0", json),
        ("application/problem+json;q=0.000, */*", json),
        ("application/problem+json;q=0.001", problem),
        ("application/json;q=0.5, */*", problem),
        ("application/json;q=0, application/*", problem),
        ("application/problem+json;q=1.001", json),
        ("application/problem+json;q=-1", json),
        ("application/problem+json;q=.5", json),
        ("application/problem+json;q=0.5555", json),
        ("text/html;x=\",\\\",application/problem+json,\"", html),
        ("text/html;x=\"a,b\", application/problem+json", problem),
        ("application/problem+json/", json),
        ("application", json),
        ("/", json),
        (",,;;q=,", json),
    ] {
        let headers = fields(&[("accept", accept)]);
        let each = decisions([deny(0, 1_000, 1_000)]);
        let answer = refusal(&plan(&[bucket("api", 1, 1_000, 1)]), Ok(&each), &get(&headers)).unwrap();
        assert_eq!(answer.headers()["content-type"], expected, "{accept}");
    }
}

#[test]
fn several_accept_lines_are_one_list_of_bounded_length() {
    let media_type = |headers: &HeaderMap| crate::answer::accept::form(&get(headers)).media_type();
    assert_eq!(
        media_type(&fields(&[
            ("accept", "text/html"),
            ("accept", "application/problem+json")
        ])),
        "application/problem+json"
    );
    let after = |ranges: usize| {
        fields(&[(
            "accept",
            &format!("{}application/problem+json", "a/b,".repeat(ranges)),
        )])
    };
    assert_eq!(media_type(&after(31)), "application/problem+json");
    assert_eq!(media_type(&after(32)), "application/json");
    let long = |bytes: usize| {
        fields(&[(
            "accept",
            &format!("{},application/problem+json", "a".repeat(bytes)),
        )])
    };
    assert_eq!(media_type(&long(998)), "application/problem+json");
    assert_eq!(media_type(&long(999)), "application/json");
}
