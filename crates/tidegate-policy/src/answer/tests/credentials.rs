//! How requests are refused for their keys and tokens.

use http::{HeaderMap, StatusCode};

use super::refusal::{Answer, body};
use crate::fixture::{get, lines};
use crate::{Answers, IdentityRefusal, KeyFault, KeyPlace, KeyRefusal, TokenFault};

/// The response to a request without anything else, whose API key was refused.
fn refused_key(fault: KeyFault, places: &[KeyPlace]) -> Answer {
    let refusal = IdentityRefusal::ApiKey(KeyRefusal { fault, places });
    Answers::default().refuse_identity(&refusal, &get(&HeaderMap::new()))
}

#[test]
fn a_refused_key_is_401_with_a_challenge_and_names_the_place() {
    let places = [KeyPlace::Header(http::HeaderName::from_static("x-api-key"))];
    let answer = refused_key(KeyFault::Unknown, &places);
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        lines(answer.headers()),
        "cache-control: no-store\ncontent-type: application/json\nwww-authenticate: ApiKey\n"
    );
    assert_eq!(
        body(&answer),
        "{\"type\":\"about:blank\",\"title\":\"Unauthorized\",\"status\":401,\"error\":\"unknown_api_key\",\
         \"detail\":\"This API key is not known. It was looked for in the header field x-api-key.\",\
         \"message\":\"This API key is not known. It was looked for in the header field x-api-key.\"}"
    );
}

#[test]
fn each_fault_of_a_key_has_its_error() {
    let bearer = KeyPlace::Header(http::header::AUTHORIZATION);
    let query = KeyPlace::Query("k\"1".to_owned());
    for (fault, places, challenge, error) in [
        (
            KeyFault::Missing,
            std::slice::from_ref(&bearer),
            "Bearer",
            "missing_api_key",
        ),
        (
            KeyFault::Revoked,
            std::slice::from_ref(&bearer),
            "Bearer",
            "revoked_api_key",
        ),
        (
            KeyFault::Missing,
            std::slice::from_ref(&query),
            "ApiKey",
            "the query parameter k\\\"1.",
        ),
        (
            KeyFault::Missing,
            &[bearer.clone(), query.clone()],
            "Bearer",
            "the header field authorization or the query parameter k\\\"1.",
        ),
    ] {
        let answer = refused_key(fault, places);
        assert_eq!(answer.headers()["www-authenticate"], challenge);
        assert!(body(&answer).contains(error), "{}", body(&answer));
    }
}

#[test]
fn a_refused_token_says_why_as_rfc_6750_has_it() {
    let refused =
        |fault| Answers::default().refuse_identity(&IdentityRefusal::Token(fault), &get(&HeaderMap::new()));
    for (fault, challenge, error) in [
        (TokenFault::Missing, "Bearer", "missing_token"),
        (
            TokenFault::Expired,
            "Bearer error=\"invalid_token\", error_description=\"The token has expired\"",
            "expired_token",
        ),
        (
            TokenFault::Audience,
            "Bearer error=\"invalid_token\", error_description=\"The token is for another audience\"",
            "invalid_token",
        ),
    ] {
        let answer = refused(fault);
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(answer.headers()["www-authenticate"], challenge);
        assert!(
            body(&answer).contains(&format!("\"error\":\"{error}\"")),
            "{}",
            body(&answer)
        );
    }
}

#[test]
fn a_token_that_nobody_can_judge_now_is_503_and_tried_again() {
    let refusal = IdentityRefusal::Token(TokenFault::NoKeys);
    let answer = Answers::default().refuse_identity(&refusal, &get(&HeaderMap::new()));
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["retry-after"], "10");
    assert!(!answer.headers().contains_key("www-authenticate"));
    assert!(body(&answer).contains("\"error\":\"identity_unavailable\""));
}
