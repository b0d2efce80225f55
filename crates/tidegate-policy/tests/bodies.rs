//! Bodies as keys and conditions.
#![allow(clippy::unwrap_used, reason = "only tests")]

mod common;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Version};
use tidegate_core::{HoldId, Key, Timestamp};
use tidegate_policy::{Body, Identity, PolicySet, Refusal, Request};

const NOW: Timestamp = Timestamp::from_nanos(0);
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const LOGIN: &str = "
policies:
  - name: login
    match: { method: POST, path: /login }
    key: [body.json.username]
    limit: { quota: 5, window: 1m }
";

/// A POST with a body.
#[derive(Clone, Copy)]
struct Post<'a> {
    path: &'a str,
    query: Option<&'a str>,
    media: &'a str,
    body: &'a str,
}

const POST: Post<'_> = Post {
    path: "/login",
    query: None,
    media: JSON,
    body: "",
};

impl Post<'_> {
    fn json(body: &str) -> Post<'_> {
        Post { body, ..POST }
    }

    fn form(body: &str) -> Post<'_> {
        Post {
            media: FORM,
            body,
            ..POST
        }
    }

    /// What `look` makes of the request, read as far as `set` asks for.
    fn with<T>(&self, set: &PolicySet, look: impl FnOnce(&Request<'_>) -> T) -> T {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_str(self.media).unwrap());
        let bare = Request {
            method: &Method::POST,
            version: Version::HTTP_11,
            host: "a.com",
            path: self.path,
            query: self.query,
            headers: &headers,
            client: std::net::Ipv4Addr::LOCALHOST.into(),
            tls: None,
            body: &Body::UNREAD,
        };
        let body = match set.needs_body(&bare, NOW) {
            _ if self.body.is_empty() => Body::EMPTY,
            None => Body::UNREAD,
            Some(need) if self.body.len() > need.max_bytes => Body::TOO_LARGE,
            Some(_) => Body::whole(Bytes::copy_from_slice(self.body.as_bytes())),
        };
        look(&Request { body: &body, ..bare })
    }

    fn keys(&self, set: &PolicySet) -> Vec<Key> {
        self.with(set, |request| {
            let plan = set.plan(request, &Identity::Anonymous, HoldId(1), NOW);
            assert!(plan.refusal.is_none(), "{:?}", plan.refusal);
            plan.charges.iter().map(|charge| charge.key).collect()
        })
    }

    fn is_refused(&self, set: &PolicySet) -> bool {
        self.with(set, |request| {
            let plan = set.plan(request, &Identity::Anonymous, HoldId(1), NOW);
            matches!(plan.refusal, Some(Refusal::MissingKeyPart { .. }))
        })
    }

    fn is_too_large(&self, set: &PolicySet) -> bool {
        self.with(set, |request| {
            let plan = set.plan(request, &Identity::Anonymous, HoldId(1), NOW);
            matches!(plan.refusal, Some(Refusal::BodyTooLarge { .. }))
        })
    }
}

#[test]
fn each_username_has_a_counter_of_its_own_however_it_is_spelt() {
    let set = common::set(LOGIN);
    let ann = Post::json(r#"{"username":"ann","password":"1"}"#).keys(&set);
    assert_eq!(ann.len(), 1);
    for same in [
        r#"{"password":"2","username":"ann"}"#,
        r#" { "user\u006eame" : "\u0061nn" } "#,
        r#"{"x":[{"username":"bob"}],"username":"ann"}"#,
        r#"{"Username":"ann"}"#,
    ] {
        assert_eq!(Post::json(same).keys(&set), ann, "{same}");
    }
    for other in [
        r#"{"username":"bob"}"#,
        r#"{"username":"Ann"}"#,
        r#"{"username":" ann"}"#,
    ] {
        assert_ne!(Post::json(other).keys(&set), ann, "{other}");
    }
}

#[test]
fn a_text_a_number_and_a_truth_are_different_keys() {
    let set = common::set(LOGIN);
    let keys = [
        r#"{"username":"1"}"#,
        r#"{"username":1}"#,
        r#"{"username":"true"}"#,
        r#"{"username":true}"#,
    ]
    .map(|body| Post::json(body).keys(&set));
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "{index}");
    }
    assert_eq!(Post::json(r#"{"username":1.0}"#).keys(&set), keys[1]);
}

#[test]
fn no_way_to_hide_the_username_passes() {
    let set = common::set(LOGIN);
    for body in [
        "",
        "{}",
        r#"{"username":""}"#,
        r#"{"username":null}"#,
        r#"{"username":["ann"]}"#,
        r#"{"username":{"$ne":""}}"#,
        r#"{"username":"x1","username":"ann"}"#,
        r#"{"username":"x1","Username":"ann"}"#,
        r#"{"username":"ann"}garbage"#,
        r#"{"username":"ann""#,
        "username=ann",
    ] {
        assert!(Post::json(body).is_refused(&set), "{body}");
    }
    for media in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        FORM,
    ] {
        let post = Post {
            media,
            ..Post::json(r#"{"username":"ann"}"#)
        };
        assert!(post.is_refused(&set), "{media}");
    }
}

#[test]
fn forms_are_keys_too() {
    let set = common::set(&LOGIN.replace("json", "form"));
    let ann = Post::form("username=ann&password=x").keys(&set);
    assert_eq!(Post::form("a=b&user%6eame=%61nn").keys(&set), ann);
    assert_ne!(Post::form("username=bob").keys(&set), ann);
    for hidden in [
        "username=x1&username=ann",
        "username=x1;username=ann",
        "username[]=ann&username=x1",
    ] {
        assert!(Post::form(hidden).is_refused(&set), "{hidden}");
    }
    let twofold = Post {
        query: Some("username=ann"),
        ..Post::form("username=x1")
    };
    assert!(twofold.is_refused(&set), "some origins prefer the query string");
}

#[test]
fn graphql_operations_are_keys_and_conditions() {
    let set = common::set(
        "
policies:
  - name: mutations
    match: { path: /graphql, body: { graphql.type: mutation } }
    key: [body.graphql.operation]
    limit: { quota: 5, window: 1m }
",
    );
    let graphql = |body| Post {
        path: "/graphql",
        ..Post::json(body)
    };
    let login = graphql(r#"{"query":"mutation Login { login }"}"#).keys(&set);
    assert_eq!(login.len(), 1);
    let chosen = r#"{"query":"query A { a } mutation Login { b }","operationName":"Login"}"#;
    assert_eq!(graphql(chosen).keys(&set), login);
    assert_eq!(graphql(r#"{"query":"query A { a }"}"#).keys(&set), []);
    let batch = graphql(r#"[{"query":"query A { a }"},{"query":"mutation Login { a }"}]"#);
    assert!(batch.is_refused(&set), "a batch may hold a mutation");
}

#[test]
fn an_unclear_body_meets_every_condition_and_an_absent_one_only_its_absence() {
    let of = |wanted: &str| {
        common::set(&format!(
            "
policies:
  - name: a
    match: {{ body: {{ json.kind: {wanted} }} }}
    key: [client.ip]
    limit: {{ quota: 5, window: 1m }}
"
        ))
    };
    let counted = |set: &PolicySet, body| !Post::json(body).keys(set).is_empty();
    let (export, absent) = (of("export"), of("{ present: false }"));
    for (body, is_export, is_absent) in [
        (r#"{"kind":"export"}"#, true, false),
        (r#"{"kind":"import"}"#, false, false),
        (r#"{"other":1}"#, false, true),
        ("", false, true),
        (r#"{"kind":"import","kind":"export"}"#, true, true),
        ("not json", true, true),
    ] {
        assert_eq!(counted(&export, body), is_export, "{body}");
        assert_eq!(counted(&absent, body), is_absent, "{body}");
    }
    let unread = Post {
        media: "text/plain",
        ..Post::json(r#"{"kind":"export"}"#)
    };
    assert_eq!(unread.keys(&export).len(), 1);
    for (wanted, body) in [
        ("7", r#"{"kind":7.0}"#),
        ("{ prefix: exp }", r#"{"kind":"export"}"#),
        ("true", r#"{"kind":true}"#),
    ] {
        assert!(counted(&of(wanted), body), "{wanted}");
    }
}

#[test]
fn only_requests_that_a_policy_looks_into_need_their_body() {
    let set = common::set(&format!(
        "{LOGIN}    body: {{ max_bytes: 1KiB }}
  - name: any
    match: {{ path: /login, body: {{ json.a: b }} }}
    key: [client.ip]
    limit: {{ quota: 5, window: 1m }}
  - name: elsewhere
    match: {{ path: /elsewhere }}
    key: [client.ip]
    limit: {{ quota: 5, window: 1m }}
"
    ));
    let needed = |post: Post<'_>| {
        post.with(&set, |request| {
            set.needs_body(request, NOW).map(|need| need.max_bytes)
        })
    };
    assert_eq!(needed(POST), Some(64 * 1024));
    assert_eq!(needed(Post::form("")), None);
    let elsewhere = Post {
        path: "/elsewhere",
        ..POST
    };
    assert_eq!(needed(elsewhere), None);
}

#[test]
fn a_body_is_looked_at_up_to_its_bound_and_refused_beyond() {
    let body = |bytes: usize| format!(r#"{{"username":"ann","x":"{}"}}"#, "x".repeat(bytes - 25));
    let with = |rule: &str| common::set(&format!("{LOGIN}    body: {rule}\n"));
    let set = with("{ max_bytes: 100 }");
    assert_eq!(body(100).len(), 100);
    assert_eq!(Post::json(&body(100)).keys(&set).len(), 1);
    assert!(Post::json(&body(101)).is_too_large(&set));
    let missing = with("{ max_bytes: 100, on_too_large: missing }");
    assert!(Post::json(&body(101)).is_refused(&missing));
    let default = common::set(LOGIN);
    assert_eq!(Post::json(&body(64 * 1024)).keys(&default).len(), 1);
    assert!(Post::json(&body(64 * 1024 + 1)).is_too_large(&default));
    // What this policy does not read may be as long as it likes.
    let upload = Post {
        media: "image/png",
        ..Post::json("x")
    };
    assert!(!upload.is_too_large(&set));
}

#[test]
fn each_policy_keeps_to_its_own_bound() {
    let set = common::set(&format!(
        "{LOGIN}    body: {{ max_bytes: 10, on_too_large: missing }}
    on_missing: fallback
  - name: wide
    match: {{ path: /login }}
    key: [body.json.username]
    limit: {{ quota: 5, window: 1m }}
"
    ));
    let keys = |name: &str| Post::json(&format!(r#"{{"username":"{name}"}}"#)).keys(&set);
    let (ann, bob) = (keys("ann"), keys("bob"));
    assert_eq!(ann[0], bob[0], "counted by the address");
    assert_ne!(ann[1], bob[1]);
}

#[test]
fn expressions_are_handed_documents_forms_and_operations() {
    let set = common::set(
        "
policies:
  - name: any
    key: [body.json.a, body.form.a, body.graphql.type]
    limit: { quota: 5, window: 1m }
",
    );
    let a = |post: Post<'_>| post.with(&set, |request| request.json().map(|json| json["a"].clone()));
    assert_eq!(
        a(Post::json(r#"{"a":{"b":[1]}}"#)),
        Some(serde_json::json!({ "b": [1] }))
    );
    assert_eq!(a(Post::json(r#"{"a":1,"a":2}"#)), None);
    assert_eq!(a(Post::form("a=1")), None);
    let form = Post::form("a=1&b=2&b=3").with(&set, |request| request.form().to_vec());
    assert_eq!(form, [("a".to_owned(), "1".to_owned())]);
    let graphql = Post::json(r#"[{"query":"{a}"},{"query":"{a}"}]"#).with(&set, |request| request.graphql());
    assert_eq!(graphql.map(|asked| asked.operations), Some(2));
}

#[test]
fn expressions_look_at_bodies_in_every_form() {
    let set = common::set(
        "
policies:
  - name: json
    match: { path: /json }
    when: 'body.json.username != \"monitor\"'
    key: ['body.json.username.lowerAscii()']
    cost: 'size(body.json.items)'
    limit: { quota: 50, window: 1m }
  - name: form
    match: { path: /form }
    key: ['body.form.user + \"!\"']
    limit: { quota: 50, window: 1m }
  - name: graphql
    match: { path: /graphql }
    key: [client.ip]
    cost: 'body.graphql.type == \"mutation\" ? 5 : body.graphql.operations'
    limit: { quota: 50, window: 1m }
",
    );
    let costs = |post: Post<'_>| {
        post.with(&set, |request| {
            let plan = set.plan(request, &Identity::Anonymous, HoldId(1), NOW);
            let costs: Vec<u64> = plan.charges.iter().map(|charge| charge.cost.units()).collect();
            (costs, plan.refusal.is_some())
        })
    };
    let json = |body| Post {
        path: "/json",
        ..Post::json(body)
    };
    assert_eq!(
        costs(json(r#"{"username": "ann", "items": [1, 2, 3]}"#)),
        (vec![3], false)
    );
    assert_eq!(costs(json(r#"{"username": "monitor"}"#)), (vec![], false));
    // Who sends something else is refused, and does not dodge the policy.
    for body in [
        "",
        "{}",
        "[",
        r#"{"username": 1}"#,
        r#"{"username": "a", "username": "monitor"}"#,
    ] {
        assert_eq!(costs(json(body)), (vec![], true), "{body}");
    }
    assert_eq!(
        json(r#"{"username": "ANN", "items": [1]}"#).keys(&set),
        json(r#"{"username": "ann", "items": [1]}"#).keys(&set),
    );

    let form = |body| Post {
        path: "/form",
        ..Post::form(body)
    };
    assert_eq!(form("user=ann&x=1").keys(&set), form("x=2&user=%61nn").keys(&set));
    assert_ne!(form("user=ann").keys(&set), form("user=bob").keys(&set));
    assert_eq!(costs(form("user=ann&user=bob")), (vec![], true));

    let graphql = |body| Post {
        path: "/graphql",
        ..Post::json(body)
    };
    assert_eq!(
        costs(graphql(r#"{"query": "mutation M { a }"}"#)),
        (vec![5], false)
    );
    assert_eq!(costs(graphql(r#"{"query": "{ a }"}"#)), (vec![1], false));
    // In a batch nobody can tell what runs.
    assert_eq!(
        costs(graphql(r#"[{"query": "{ a }"}, {"query": "{ b }"}]"#)),
        (vec![], true)
    );
}
