use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Method, Response};

use crate::answer::tests::NOW;
use crate::fixture::{bucket, decisions, deny, fields, get, plan};
use crate::{Answers, IdentityRefusal, KeyFault, KeyPlace, KeyRefusal, Request, StoreFailure, Verdict};

fn answer(verdict: &Verdict<'_>, request: &Request<'_>) -> Response<Bytes> {
    Answers::default().refuse(verdict, request, NOW).unwrap()
}

/// A used up limit, told to a request with these header fields.
fn limited(method: &Method, headers: &[(&str, &str)]) -> Response<Bytes> {
    let policies = [bucket("api", 1, 2_000, 10)];
    let plan = plan(&policies);
    let verdict = plan.conclude(Ok(&decisions([deny(0, 1_500, 19_500)])));
    let headers = fields(headers);
    let request = Request {
        method,
        ..get(&headers)
    };
    answer(&verdict, &request)
}

fn text(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

#[test]
fn people_get_a_page_that_says_which_limit_and_how_long() {
    let page = limited(&Method::GET, &[("accept", "text/html")]);
    assert_eq!(page.status(), 429);
    assert_eq!(page.headers()["retry-after"], "2");
    assert_eq!(page.headers()["x-ratelimit-limit"], "10");
    for part in [
        "<!doctype html>\n<html lang=\"en\">",
        "<h1>Quota exceeded</h1>",
        "The limit &#39;api&#39; is used up. Try again in 2 seconds.",
        "data-seconds=\"2\">You can try again in 2 seconds.</p>",
        "429 · rate_limit_exceeded",
    ] {
        assert!(text(&page).contains(part), "{part} in\n{}", text(&page));
    }
    let head = limited(&Method::HEAD, &[("accept", "text/html")]);
    assert!(head.body().is_empty());
    assert_eq!(head.headers()["content-type"], "text/html; charset=utf-8");
}

#[test]
fn the_page_may_do_nothing_but_what_is_on_it() {
    let page = limited(&Method::GET, &[("accept", "text/html")]);
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    let between = |open: &str, close: &str| {
        let after = text(&page).split_once(open).unwrap().1;
        after.split_once(close).unwrap().0.to_owned()
    };
    for (kind, inside) in [
        ("style-src", between("<style>", "</style>")),
        ("script-src", between("<script>", "</script>")),
    ] {
        use sha2::{Digest, Sha256};
        let hash = STANDARD.encode(Sha256::digest(&inside));
        assert!(policy.contains(&format!("{kind} 'sha256-{hash}'")), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none'"));
    assert!(!text(&page).contains("http:") && !text(&page).contains("https:"));
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
}

#[test]
fn whatever_a_page_quotes_is_escaped() {
    let places = [KeyPlace::Query("k<script>\"'&".to_owned())];
    let refusal = IdentityRefusal::ApiKey(KeyRefusal {
        fault: KeyFault::Missing,
        places: &places,
    });
    let headers = fields(&[("accept", "text/html")]);
    let page = Answers::default().refuse_identity(&refusal, &get(&headers));
    assert!(
        text(&page).contains("k&lt;script&gt;&quot;&#39;&amp;"),
        "{}",
        text(&page)
    );
    assert!(
        !text(&page).contains("id=\"wait\""),
        "there is nothing to wait for"
    );
}

#[test]
fn a_text_is_one_line() {
    let plain = limited(&Method::GET, &[("accept", "text/plain")]);
    assert_eq!(
        text(&plain),
        "The limit 'api' is used up. Try again in 2 seconds.\n"
    );
}

#[test]
fn a_grpc_call_gets_its_status_in_fields() {
    for content_type in [
        "application/grpc",
        "application/grpc+proto",
        "Application/GRPC;a=b",
    ] {
        let answer = limited(
            &Method::POST,
            &[("content-type", content_type), ("accept", "text/html")],
        );
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "application/grpc");
        assert_eq!(answer.headers()["grpc-status"], "8");
        assert_eq!(
            answer.headers()["grpc-message"],
            "The limit 'api' is used up. Try again in 2 seconds."
        );
        assert_eq!(answer.headers()["grpc-retry-pushback-ms"], "2000");
        assert!(answer.body().is_empty());
    }
    for content_type in ["application/grpcx", "application/gRP", "application/json"] {
        let answer = limited(&Method::POST, &[("content-type", content_type)]);
        assert_eq!(answer.status(), 429, "{content_type}");
    }
    assert_eq!(
        limited(&Method::GET, &[("content-type", "application/grpc")]).status(),
        429
    );
}

#[test]
fn grpc_web_gets_its_status_in_the_last_frame() {
    let web = limited(&Method::POST, &[("content-type", "application/grpc-web+proto")]);
    let fields = "grpc-status:8\r\ngrpc-message:The limit 'api' is used up. Try again in 2 seconds.\r\n\
                  grpc-retry-pushback-ms:2000\r\n";
    let mut frame = vec![0x80, 0, 0, 0, u8::try_from(fields.len()).unwrap()];
    frame.extend_from_slice(fields.as_bytes());
    assert_eq!(web.headers()["content-type"], "application/grpc-web+proto");
    assert_eq!(web.body(), &frame);
    let as_text = limited(&Method::POST, &[("content-type", "application/grpc-web-text")]);
    assert_eq!(STANDARD.decode(as_text.body()).unwrap(), frame);
}

#[test]
fn each_refusal_has_its_code_of_grpc() {
    let headers = fields(&[("content-type", "application/grpc")]);
    let request = Request {
        method: &Method::POST,
        ..get(&headers)
    };
    let mut policies = [bucket("api", 1, 1_000, 1)];
    policies[0].on_store_failure = crate::OnStoreFailure::Deny;
    let plan = plan(&policies);
    let code = |answer: Response<Bytes>| answer.headers()["grpc-status"].clone();
    let failed = plan.conclude(Err(StoreFailure::Timeout));
    assert_eq!(code(answer(&failed, &request)), "14");
    assert_eq!(code(Answers::default().refuse_access(&request)), "7");
    let places = [KeyPlace::Query("clé%\n".to_owned())];
    let fault = KeyFault::Missing;
    let refusal = IdentityRefusal::ApiKey(KeyRefusal {
        fault,
        places: &places,
    });
    let unknown = Answers::default().refuse_identity(&refusal, &request);
    let message: &HeaderValue = &unknown.headers()["grpc-message"];
    assert!(
        message.to_str().unwrap().contains("cl%C3%A9%25%0A"),
        "{message:?}"
    );
    assert_eq!(code(unknown), "16");
    let never = plan.conclude(Ok(&decisions([crate::fixture::decision(
        tidegate_core::Outcome::Never,
        1,
        0,
    )])));
    let never = answer(&never, &request);
    assert_eq!(never.headers()["grpc-retry-pushback-ms"], "-1");
    assert_eq!(code(never), "8");
}
