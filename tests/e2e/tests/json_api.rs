//! `docs/json-api.md`: what programs ask in JSON, by the commands of that page and by `docs/openapi.json`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tidegate_e2e::{Example, Gateway, Reply, curl, until};
use tidegate_test_servers::Server;

const PAGE: &str = include_str!("../../../docs/json-api.md");
const OPENAPI: &str = include_str!("../../../docs/openapi.json");

const POLICIES: &str = "
doors: { check: 0 }
policies:
  - { name: two, match: { path: /api/** }, key: [client.ip], limit: { quota: 2, window: 1h } }
  - { name: many, match: { path: /api/** }, key: [client.ip], limit: { quota: 100, window: 1h } }
  - { name: user, match: { path: /login }, key: [body.json.user], limit: { quota: 1, window: 1h } }
  - { name: tenant, match: { path: /tenant }, key: [header.x-tenant, host], on_missing: deny, limit: { quota: 1, window: 1h } }
  - { name: per-user, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 3, window: 1h } }
  - { name: free, match: { domain: shop, descriptor: [{ user: root }] }, limit: unlimited }
";

fn post(door: &Gateway, path: &str, question: &str) -> Reply {
    curl(&[&door.url(path), "--data-binary", question])
}

/// What is answered to `question`, which is as the document says.
fn check(door: &Gateway, question: &Value) -> Value {
    assert_valid("Check", question);
    let reply = post(door, "/v1/check", &question.to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    let answer = serde_json::from_str(&reply.body).unwrap();
    assert_valid("Answer", &answer);
    answer
}

/// A request of a client.
fn get(path: &str) -> Value {
    json!({ "method": "GET", "path": path, "client": "203.0.113.5" })
}

fn assert_valid(schema: &str, value: &Value) {
    assert_meets(
        &json!({ "$ref": format!("#/components/schemas/{schema}") }),
        value,
    );
}

fn assert_meets(schema: &Value, value: &Value) {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{value:#}\n{problems:#?}");
}

#[test]
fn every_example_of_the_document_is_as_the_document_says() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let post = &document["paths"]["/v1/check"]["post"];
    let contents = [
        &post["requestBody"]["content"]["application/json"],
        &post["responses"]["200"]["content"]["application/json"],
        &post["responses"]["400"]["content"]["application/problem+json"],
    ];
    let mut seen = 0;
    for content in contents {
        for example in content["examples"].as_object().unwrap().values() {
            assert_meets(&content["schema"], &example["value"]);
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}

#[test]
fn the_document_is_served_as_it_is_in_the_manual() {
    let door = Gateway::doors(POLICIES);
    let reply = curl(&[&door.url("/v1/openapi.json")]);
    assert_eq!((reply.status, &*reply.body), (200, OPENAPI));
    assert_eq!(curl(&[&door.url("/healthz")]).status, 200);
    let wrong = curl(&[&door.url("/v1/check")]);
    assert_eq!((wrong.status, wrong.field("allow")), (405, Some("POST")));
}

#[test]
fn the_page_s_commands_print_what_it_says() {
    let example = Example::copy("check", &[8082]);
    let _tidegate = example.tidegate();
    example.play_all(PAGE, &["cp ", "tidegate serve"]);
}

#[test]
fn a_request_is_decided_with_all_that_is_known() {
    let door = Gateway::doors(POLICIES);
    let question = json!({ "request": get("/api/a?b=c") });
    let first = check(&door, &question);
    assert_eq!((&first["allowed"], &first["status"]), (&json!(true), &json!(200)));
    assert_eq!(first["limits"][0]["policy"], "two");
    assert_eq!(first["limits"][0]["remaining"], 1);
    assert_eq!(first["limits"][1]["remaining"], 99);
    assert_eq!(first["client_fields"]["x-ratelimit-remaining"], "1");
    assert_eq!(first["origin_fields"]["x-tidegate-verdict"], "pass");
    check(&door, &question);
    let refused = check(&door, &question);
    assert_eq!(
        (&refused["allowed"], &refused["status"]),
        (&json!(false), &json!(429))
    );
    assert_eq!(refused["error"], "rate_limit_exceeded");
    let wait = refused["retry_after_ms"].as_u64().unwrap();
    assert!((1_700_000..=1_800_000).contains(&wait), "{wait}");
    assert_eq!(refused["limits"][0]["retry_after_ms"], wait);
    assert_eq!(refused["limits"][1]["remaining"], 98);
    let body: Value = serde_json::from_str(refused["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["error"], "rate_limit_exceeded");
    assert_eq!(
        check(&door, &json!({ "request": get("/free") }))["limits"],
        json!([])
    );
}

#[test]
fn a_look_says_what_would_be_decided_and_spends_nothing() {
    let door = Gateway::doors(POLICIES);
    let look = json!({ "request": get("/api/a"), "peek": true });
    let looked = [(); 4].map(|()| check(&door, &look));
    for looked in looked {
        assert_eq!(
            (&looked["allowed"], &looked["limits"][0]["remaining"]),
            (&json!(true), &json!(2))
        );
    }
    for _ in 0..2 {
        assert_eq!(
            check(&door, &json!({ "request": get("/api/a") }))["allowed"],
            true
        );
    }
    let looked = check(&door, &look);
    assert_eq!(
        (&looked["allowed"], &looked["status"]),
        (&json!(false), &json!(429))
    );
    assert_eq!(looked["error"], "rate_limit_exceeded");
    let refusal = json!({ "request": get("/tenant"), "peek": true });
    assert_eq!(check(&door, &refusal)["error"], "missing_key_part");
}

#[test]
fn what_is_said_of_a_request_is_what_policies_see() {
    let door = Gateway::doors(POLICIES);
    let login = |user: &str| {
        json!({ "request": {
            "method": "POST", "path": "/login", "client": "203.0.113.5",
            "headers": { "content-type": "application/json" },
            "body": json!({ "user": user }).to_string(),
        } })
    };
    assert_eq!(check(&door, &login("zoe"))["allowed"], true);
    assert_eq!(check(&door, &login("zoe"))["allowed"], false);
    assert_eq!(check(&door, &login("kim"))["allowed"], true);
    let tenant = |host: &str| {
        let mut request = get("/tenant");
        request["headers"] = json!({ "x-tenant": ["a"] });
        request["host"] = host.into();
        json!({ "request": request })
    };
    assert_eq!(check(&door, &tenant("one"))["allowed"], true);
    assert_eq!(check(&door, &tenant("one"))["allowed"], false);
    assert_eq!(check(&door, &tenant("two"))["allowed"], true);
    let missing = check(&door, &json!({ "request": get("/tenant") }));
    assert_eq!(
        (&missing["status"], &missing["error"]),
        (&json!(400), &json!("missing_key_part"))
    );
}

#[test]
fn checks_of_a_list_are_each_decided_by_themselves() {
    let door = Gateway::doors(POLICIES);
    let mut checks: Vec<Value> = (0..3).map(|_| json!({ "request": get("/api/a") })).collect();
    checks.push(json!({ "request": get("/free") }));
    let question = json!({ "checks": checks });
    assert_valid("Batch", &question);
    let reply = post(&door, "/v1/check", &question.to_string());
    let answers: Value = serde_json::from_str(&reply.body).unwrap();
    assert_valid("Answers", &answers);
    let allowed: Vec<&Value> = answers["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["allowed"])
        .collect();
    assert_eq!(allowed, [true, true, false, true]);
    let many = |count| json!({ "checks": vec![json!({ "request": get("/free") }); count] }).to_string();
    assert_eq!(post(&door, "/v1/check", &many(100)).status, 200);
    let refused = post(&door, "/v1/check", &many(101));
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("101 of them, at most 100"),
        "{}",
        refused.body
    );
}

#[test]
fn every_mistake_of_a_question_is_told_with_its_place_and_nothing_is_spent() {
    let door = Gateway::doors(POLICIES);
    let question = json!({ "pek": true, "request": {
        "method": "G T", "path": "api", "client": "nobody", "scheme": "ftp", "hots": "a",
        "headers": { "a b": "c", "x-number": 1, "x-line": "a\nb" },
    } });
    let reply = post(&door, "/v1/check", &question.to_string());
    assert_eq!(reply.status, 400);
    let problems: Value = serde_json::from_str(&reply.body).unwrap();
    assert_valid("Problems", &problems);
    let mut paths: Vec<&str> = problems["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "pek",
            "request.client",
            "request.headers.a b",
            "request.headers.x-line",
            "request.headers.x-number",
            "request.hots",
            "request.method",
            "request.path",
            "request.scheme",
        ]
    );
    let one_is_wrong = json!({ "checks": [{ "request": get("/api/a") }, { "request": {} }] });
    let reply = post(&door, "/v1/check", &one_is_wrong.to_string());
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("checks[1].request.client"), "{}", reply.body);
    let unspent = check(&door, &json!({ "request": get("/api/a"), "peek": true }));
    assert_eq!(unspent["limits"][0]["remaining"], 2);
    for hostile in [
        "",
        "{",
        "[]",
        "1",
        "null",
        &"[".repeat(5000),
        "{\"request\":null}",
    ] {
        assert_eq!(post(&door, "/v1/check", hostile).status, 400, "{hostile:.20}");
    }
    let mut fields = get("/api/a");
    fields["headers"] = (0..101)
        .map(|number| (format!("x-{number}"), json!("1")))
        .collect();
    let reply = post(&door, "/v1/check", &json!({ "request": fields }).to_string());
    assert!(reply.body.contains("too_many_fields"), "{}", reply.body);
}

#[test]
fn a_question_that_is_too_long_is_not_read() {
    let door = Gateway::doors(POLICIES);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("question");
    let ask = |bytes: usize| {
        let mut question = json!({ "request": get("/free") }).to_string();
        question.extend(std::iter::repeat_n(' ', bytes - question.len()));
        std::fs::write(&file, question).unwrap();
        post(&door, "/v1/check", &format!("@{}", file.display())).status
    };
    assert_eq!([ask(1024 * 1024), ask(1024 * 1024 + 1)], [200, 413]);
}

/// A call about this user.
fn call(user: &str) -> Value {
    json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "user", "value": user }] }] })
}

#[test]
fn a_call_of_the_rate_limit_service_is_decided_by_its_descriptors() {
    let door = Gateway::doors(POLICIES);
    let mut look = call("zoe");
    look["peek"] = true.into();
    for _ in 0..2 {
        assert_eq!(check(&door, &look)["limits"][0]["remaining"], 3);
    }
    let mut two = call("zoe");
    two["descriptors"][0]["hits"] = 2.into();
    let first = check(&door, &two);
    assert_eq!(
        (&first["allowed"], &first["limits"][0]["remaining"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(first["limits"][0]["descriptor"], 0);
    assert_eq!(first["client_fields"]["x-ratelimit-limit"], "3");
    let refused = check(&door, &two);
    assert_eq!(
        (&refused["status"], &refused["error"]),
        (&json!(429), &json!("rate_limit_exceeded"))
    );
    assert!(refused["client_fields"]["retry-after"].is_string());
    assert_eq!(check(&door, &call("root"))["unlimited"], json!([0]));
    let mut elsewhere = call("zoe");
    elsewhere["domain"] = "elsewhere".into();
    assert_eq!(check(&door, &elsewhere)["limits"], json!([]));
    let both = json!({ "domain": "shop", "descriptors": [], "request": get("/api/a") });
    assert_eq!(post(&door, "/v1/check", &both.to_string()).status, 400);
    let many = json!({ "domain": "shop", "descriptors": vec![call("zoe")["descriptors"][0].clone(); 65] });
    assert_eq!(post(&door, "/v1/check", &many.to_string()).status, 400);
}

#[test]
fn calls_in_the_json_of_their_protocol_are_answered_like_envoyproxy_ratelimit_does() {
    let door = Gateway::doors(POLICIES);
    let ask = |question: &Value| {
        let reply = post(&door, "/json", &question.to_string());
        let answer: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        if !answer.is_null() {
            assert_valid("RateLimitResponse", &answer);
        }
        (reply.status, answer)
    };
    let (status, answer) = ask(&call("zoe"));
    assert_eq!((status, &answer["overallCode"]), (200, &json!("OK")));
    let limit = json!({ "name": "per-user", "requestsPerUnit": 3, "unit": "HOUR" });
    assert_eq!(answer["statuses"][0]["currentLimit"], limit);
    assert_eq!(answer["statuses"][0]["limitRemaining"], 2);
    let metadata = json!({ "verdict": "pass", "policy": "per-user", "limit": "per-user", "remaining": 2 });
    assert_eq!(
        (&answer["dynamicMetadata"], &answer["rawBody"]),
        (&metadata, &Value::Null)
    );
    for hits in ["hitsAddend", "hits_addend"] {
        let mut three = call("zoe");
        three[hits] = 3.into();
        let (status, answer) = ask(&three);
        assert_eq!(
            (status, &answer["overallCode"]),
            (429, &json!("OVER_LIMIT")),
            "{hits}"
        );
        let body = BASE64_STANDARD
            .decode(answer["rawBody"].as_str().unwrap())
            .unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"], "rate_limit_exceeded");
        assert_eq!(answer["dynamicMetadata"]["error"], "rate_limit_exceeded");
    }
    let mut brought = call("new");
    brought["descriptors"][0]["limit"] = json!({ "requestsPerUnit": "1", "unit": "MINUTE" });
    assert_eq!([ask(&brought).0, ask(&brought).0], [200, 429]);
    let mut written = call("kim");
    written["descriptors"][0]["hitsAddend"] = "4".into();
    assert_eq!(ask(&written).0, 429);
    for wrong in [
        json!({}),
        json!([]),
        json!({ "domain": "shop" }),
        json!({ "domain": "shop", "descriptors": [{}] }),
        json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "user" }], "hitsAddend": -1 }] }),
        json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "user" }], "unknown": 1 }] }),
        json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "a" }], "limit": { "unit": "AGE" } }] }),
    ] {
        assert_eq!(ask(&wrong).0, 400, "{wrong}");
    }
    assert_eq!(post(&door, "/json", "{").status, 400);
}

#[test]
fn checks_of_a_list_share_calls_to_the_store_and_each_counter_sees_them_in_order() {
    let redis = Server::redis();
    let folder = tempfile::tempdir().unwrap();
    let policies = format!(
        "admin: 127.0.0.1:0
store: {{ redis: {}, timeout: 1s }}
doors: {{ check: 0 }}
policies:
  - {{ name: client, match: {{ path: /api/** }}, key: [client.ip], on_store_failure: deny, limit: {{ algorithm: fixed_window, quota: 3, window: 1h }} }}
  - {{ name: per-user, match: {{ domain: shop, descriptor: [user] }}, on_store_failure: deny, limit: {{ algorithm: fixed_window, quota: 3, window: 1h }} }}
",
        redis.url()
    );
    let file = folder.path().join("tidegate.yaml");
    std::fs::write(&file, policies).unwrap();
    let door = Gateway::run(Gateway::command(&["serve", "--config", file.to_str().unwrap()]));
    let ask = |checks: Vec<Value>| -> Vec<Value> {
        let question = json!({ "checks": checks }).to_string();
        let reply = post(&door, "/v1/check", &question);
        let answers: Value = serde_json::from_str(&reply.body).unwrap();
        answers["results"].as_array().unwrap().clone()
    };
    let calls = || door.metric("tidegate_store_calls_total");

    let of = |number: usize| {
        let client = format!("203.0.113.{number}");
        json!({ "request": { "method": "GET", "path": "/api/a", "client": client } })
    };
    let before = calls();
    assert!(
        ask((0..100).map(of).collect())
            .iter()
            .all(|answer| answer["limits"][0]["remaining"] == 2)
    );
    let taken = calls() - before;
    // A dozen on a quiet machine, and one for each check if they went one after the other.
    assert!(taken <= 75.0, "{taken} calls");

    // Two clients by turns, and a user among them.
    let mixed = |number: usize| match number % 3 {
        2 => call("zoe"),
        client => of(200 + client),
    };
    let answers = ask((0..18).map(mixed).collect());
    for kind in 0..3 {
        let seen: Vec<(&Value, &Value)> = answers
            .iter()
            .skip(kind)
            .step_by(3)
            .map(|answer| (&answer["allowed"], &answer["limits"][0]["remaining"]))
            .collect();
        let (yes, no) = (json!(true), json!(false));
        let left = [2, 1, 0].map(|left| json!(left));
        let expected = [(&yes, &left[0]), (&yes, &left[1]), (&yes, &left[2])];
        assert_eq!(seen[..3], expected, "{kind}");
        assert_eq!(seen[3..], [(&no, &left[2]); 3], "{kind}");
    }

    // Each decision counts, and yet they were two requests.
    let nothing_in_flight = || (door.metric("tidegate_requests_in_flight") == 0.0).then_some(());
    until("both have ended", nothing_in_flight);
    let ended = |verdict| door.metric(&format!("tidegate_requests_total{{verdict=\"{verdict}\"}}"));
    assert_eq!(["pass", "reject"].map(ended), [1.0, 1.0]);
    assert_eq!(door.metric("tidegate_decision_duration_seconds_count"), 118.0);
}
