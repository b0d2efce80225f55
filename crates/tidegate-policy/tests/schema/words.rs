//! The words that a field of the schema takes are those that the reader proposes, in the same order.

use serde_json::Value;

use super::{compiled, schema};

/// No word, and like none.
const NO_WORD: &str = "0000";

/// Files in which the word of one field is [`NO_WORD`], by the field's place in the schema.
fn files() -> Vec<(&'static str, String)> {
    let policy = |field: &str| {
        format!("policies: [{{ name: a, key: host, limit: {{ quota: 1, window: 1s }}, {field} }}]")
    };
    let limit = |field: &str| format!("policies: [{{ name: a, key: host, limit: {{ {field} }} }}]");
    let jwt = |field: &str| {
        format!("identity: {{ jwt: {{ issuer: a, audience: b, jwks: c, algorithms: RS256, {field} }} }}")
    };
    let key = |field: &str| format!("identity: {{ api_key: {{ header: a, keys: b, {field} }} }}");
    let tls = |field: &str| {
        let certificates = "certificates: { certificate: a, key: b }, client_ca: c";
        format!("gateway: {{ listen: {{ address: 0.0.0.0:1, tls: {{ {certificates}, {field} }} }} }}")
    };
    vec![
        (
            "gateway/forwarded_field",
            "gateway: { trusted_hops: 1, forwarded_field: 0000 }".to_owned(),
        ),
        ("gateway/request_ids", "gateway: { request_ids: 0000 }".to_owned()),
        ("listener_tls/client_auth", tls("client_auth: 0000")),
        (
            "listener/proxy_protocol",
            "gateway: { trusted_proxies: 10.0.0.7, listen: { address: 0.0.0.0:1, proxy_protocol: 0000 } }"
                .to_owned(),
        ),
        ("listener_tls/min_version", tls("min_version: 0000")),
        ("api_key/on_missing", key("on_missing: 0000")),
        ("api_key/on_unknown", key("on_unknown: 0000")),
        ("api_key/on_revoked", key("on_revoked: 0000")),
        ("jwt/on_missing", jwt("on_missing: 0000")),
        ("jwt/on_invalid", jwt("on_invalid: 0000")),
        ("answers/rate_limit", "answers: { rate_limit: 0000 }".to_owned()),
        (
            "answers/x_rate_limit",
            "answers: { x_rate_limit: 0000 }".to_owned(),
        ),
        (
            "access_log/only",
            "access_log: { to: stdout, only: 0000 }".to_owned(),
        ),
        ("policy/on_missing", policy("on_missing: 0000")),
        ("policy/on_error", policy("on_error: 0000")),
        ("policy/mode", policy("mode: 0000")),
        ("policy/on_store_failure", policy("on_store_failure: 0000")),
        (
            "redis_door/on_store_failure",
            "store: redis://a\ndoors: { redis: { listen: 1, on_store_failure: 0000 } }".to_owned(),
        ),
        ("body/on_too_large", policy("body: { on_too_large: 0000 }")),
        ("limit/algorithm", limit("algorithm: 0000")),
        (
            "calendar_unit",
            limit("algorithm: fixed_window, quota: 1, window: { calendar: 0000 }"),
        ),
        ("day", policy("schedule: { days: 0000 }")),
        (
            "jwt_algorithm",
            "identity: { jwt: { issuer: a, audience: b, jwks: c, algorithms: 0000 } }".to_owned(),
        ),
    ]
}

/// The words that stand between backticks in the cure of what is wrong with `text`.
fn proposed(text: &str) -> Vec<String> {
    let Err(problems) = compiled(text) else {
        panic!("{NO_WORD} is a word in {text}");
    };
    let problem = problems.iter().find(|problem| problem.message.contains(NO_WORD));
    let cure = problem.unwrap_or_else(|| panic!("{problems}")).cure.split('`');
    cure.skip(1).step_by(2).map(str::to_owned).collect()
}

/// All texts of an `enum`.
fn words(schema: &Value) -> Vec<String> {
    let words = schema["enum"].as_array().into_iter().flatten();
    words.filter_map(|word| Some(word.as_str()?.to_owned())).collect()
}

/// Every definition and every field with words, by its place.
fn choices(schema: &Value) -> Vec<(String, Vec<String>)> {
    let mut choices = Vec::new();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        choices.push((name.clone(), words(definition)));
        for (field, described) in definition["properties"].as_object().into_iter().flatten() {
            choices.push((format!("{name}/{field}"), words(described)));
        }
    }
    choices.retain(|(_, words)| !words.is_empty());
    choices
}

#[test]
fn the_words_of_a_field_are_those_that_the_reader_proposes() {
    let schema = schema();
    let files = files();
    for (place, words) in choices(&schema) {
        // The reader knows the words of later versions too, to say that they are not available yet.
        if matches!(&*place, "policy/consistency" | "redis_door/consistency") {
            continue;
        }
        let file = files.iter().find(|(known, _)| *known == place);
        let (_, text) =
            file.unwrap_or_else(|| panic!("no file with a wrong word for {place}: write one here"));
        assert_eq!(words, proposed(text), "{place}");
    }
}
