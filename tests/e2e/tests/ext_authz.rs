//! What policies of the gateway say, asked by the real Envoy: over gRPC and over HTTP.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;
use tidegate_e2e::{
    Authority, Beside, ENVOY_ARGUMENTS, Example, Gateway, Port, Proxy, Reply, TokenIssuer, blocks, curl,
};

/// One way in which Envoy asks.
struct Variant {
    proxy: Proxy,
    /// Where Envoy's part of it stands.
    file: &'static str,
    door: &'static str,
    patience: [&'static str; 2],
}

const GRPC: Variant = Variant {
    proxy: Proxy {
        folder: "envoy",
        ports: &[10000, 8081, 9000],
        policies: "requests.yaml",
        command: "envoy --config-path ext_authz.yaml",
        more: ENVOY_ARGUMENTS,
        ready: "starting workers",
    },
    file: "ext_authz.yaml",
    door: "envoy: 127.0.0.1:8081",
    patience: ["timeout: 0.1s", "timeout: 20s"],
};

const HTTP: Variant = Variant {
    proxy: Proxy {
        folder: "envoy-http",
        ports: &[8080, 8082, 9000],
        policies: "tidegate.yaml",
        command: "envoy -c envoy.yaml",
        more: ENVOY_ARGUMENTS,
        ready: "starting workers",
    },
    file: "envoy.yaml",
    door: "check: 127.0.0.1:8082",
    patience: ["timeout: 1s }", "timeout: 20s }"],
};

impl Variant {
    /// Starts it with these policies in place of its own, and an application that says more.
    fn start(&self, policies: &str, change: impl FnOnce(&Example)) -> Beside {
        self.proxy.start_with(|example| {
            let text = example.with_ports(&format!("doors: {{ {} }}\n{policies}", self.door));
            fs::write(example.folder().join(self.proxy.policies), text).unwrap();
            // So that a busy machine decides nothing.
            example.change(self.file, self.patience[0], self.patience[1]);
            let says = "key=%REQ(X-API-KEY)% cookie=%REQ(COOKIE)% verdict=";
            example.change(self.file, "verdict=", says);
            change(example);
        })
    }
}

fn statuses<const N: usize>(asked: [Reply; N]) -> [u16; N] {
    asked.map(|reply| reply.status)
}

const KEYS: &str = "
identity: { api_key: { header: x-api-key, query: key, cookie: key, keys: keys.yaml, strip: true } }
policies:
  - name: api
    match: { path: /api/** }
    key: [identity]
    on_missing: fallback
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
    tiers: { pro: { algorithm: fixed_window, quota: 3, window: 1h } }
";
const KEY: &str = "tg_0123456789abcdefghij";

/// Writes `keys.yaml`, as the manual says.
fn write_keys(example: &Example) {
    let arguments = [
        "hash-key",
        "--subject",
        "acme",
        "--tier",
        "pro",
        "--append",
        "keys.yaml",
    ];
    let mut command = Gateway::command(&arguments);
    command.current_dir(example.folder()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn api_keys_give_tiers_and_the_application_never_sees_them() {
    for variant in [GRPC, HTTP] {
        let setup = variant.start(KEYS, write_keys);
        let key = format!("x-api-key: {KEY}");
        let first = setup.get("/api/a", &["-H", &key, "-H", "x-tidegate-tier: gold"]);
        assert_eq!((first.status, first.number("x-ratelimit-remaining")), (200, 2));
        assert!(
            first.body.contains(" key=- cookie=- verdict=pass subject=acme"),
            "{first:?}"
        );
        let cookies = format!("cookie: a=1; key={KEY}; b=2");
        let second = setup.get("/api/a", &["-H", &cookies]);
        assert_eq!(second.number("x-ratelimit-remaining"), 1);
        assert!(second.body.contains(" cookie=a=1; b=2 "), "{second:?}");
        let alone = setup.get("/free", &["-H", &format!("cookie: key={KEY}")]);
        assert!(alone.body.contains(" cookie=- "), "{alone:?}");
        let unknown = setup.get("/api/a", &["-H", "x-api-key: tg_jihgfedcba9876543210"]);
        assert_eq!(unknown.status, 401);
        assert!(unknown.field("www-authenticate").is_some(), "{unknown:?}");
        assert!(unknown.body.contains("unknown_api_key"), "{unknown:?}");
        let nobody = [(); 2].map(|()| setup.get("/api/a", &["-H", "x-tidegate-subject: acme"]));
        assert!(nobody[0].body.contains(" subject=-"), "{nobody:?}");
        assert_eq!(statuses(nobody), [200, 429]);
    }
}

#[test]
fn keys_are_taken_off_a_query_however_their_name_is_spelled() {
    let setup = GRPC.start(KEYS, write_keys);
    for (query, left) in [
        // Envoy writes what is left anew, sorted by name.
        (format!("?b=%2F&a=1&key={KEY}&a=2"), "?a=1&a=2&b=%2F"),
        (format!("?k%65y={KEY}"), ""),
        (format!("?%6b%65%79={KEY}&x"), "?x="),
    ] {
        let reply = setup.get(&format!("/free{query}"), &[]);
        assert!(
            reply.body.starts_with(&format!("GET /free{left} key=")),
            "{reply:?}"
        );
        assert!(reply.body.contains("subject=acme"), "{reply:?}");
    }
}

#[test]
fn tokens_and_what_they_claim_count() {
    let issuer = TokenIssuer::new("one");
    for variant in [GRPC, HTTP] {
        let policies = "
identity:
  jwt: { issuer: me, audience: you, algorithms: [EdDSA], jwks: jwks.json, tier: plan }
policies:
  - name: organisation
    match: { path: /api/** }
    key: [claims.org]
    on_missing: fallback
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
    tiers: { pro: { algorithm: fixed_window, quota: 2, window: 1h } }
";
        let setup = variant.start(policies, |example| {
            fs::write(example.folder().join("jwks.json"), TokenIssuer::jwks(&[&issuer])).unwrap();
        });
        let asked = |subject: &str, org: &str, plan: &str| {
            let token = issuer.token_with(subject, json!({ "org": org, "plan": plan }));
            setup.get("/api/a", &["-H", &format!("authorization: Bearer {token}")])
        };
        let first = asked("ann", "acme", "pro");
        assert_eq!(first.number("x-ratelimit-remaining"), 1);
        assert!(first.body.contains("subject=ann"), "{first:?}");
        let others = [
            asked("bob", "acme", "pro"),
            asked("cid", "acme", "pro"),
            asked("dan", "initech", "free"),
        ];
        assert_eq!(statuses(others), [200, 429, 200]);
        let forged = setup.get(
            "/api/a",
            &["-H", "authorization: Bearer eyJhbGciOiJub25lIn0.e30."],
        );
        assert_eq!(forged.status, 401);
    }
}

#[test]
fn queries_cookies_fields_and_hosts_are_what_the_client_sent() {
    let policies = r#"
policies:
  - name: search
    match: { path: /search, query: { kind: deep }, host: shop.test }
    key: [query.user]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
  - name: cart
    match: { path: /cart, cookies: { session: { present: true } } }
    key: [cookie.session]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
  - name: agents
    match: { path: /agents }
    key: ["request.headers['user-agent'] + request.method"]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
"#;
    for variant in [GRPC, HTTP] {
        let setup = variant.start(policies, |_| {});
        let search = |query: &str, host: &str| {
            setup.get(&format!("/search?{query}"), &["-H", &format!("host: {host}")])
        };
        let asked = [
            search("kind=deep&user=ann", "shop.test"),
            search("user=%61nn&k%69nd=deep", "SHOP.test:80"),
            search("kind=deep&user=bob", "shop.test"),
            search("kind=flat&user=ann", "shop.test"),
            search("kind=deep&user=ann", "other.test"),
        ];
        assert_eq!(statuses(asked), [200, 429, 200, 200, 200]);
        let cart = |cookies: &str| setup.get("/cart", &["-H", &format!("cookie: {cookies}")]);
        let asked = [
            cart("session=a"),
            cart("x=1; session=a"),
            cart("session=b"),
            cart("x=1"),
        ];
        assert_eq!(statuses(asked), [200, 429, 200, 200]);
        let agents = |agent: &str, method: &str| setup.get("/agents", &["-A", agent, "-X", method]);
        let asked = [
            agents("a", "GET"),
            agents("a", "GET"),
            agents("b", "GET"),
            agents("a", "PUT"),
        ];
        assert_eq!(statuses(asked), [200, 429, 200, 200]);
    }
}

#[test]
fn two_fields_of_one_name_are_two_to_a_policy() {
    let policies = "
policies:
  - name: cart
    match: { path: /cart, cookies: { session: { present: true } } }
    key: [cookie.session]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
";
    let setup = GRPC.start(policies, |_| {});
    let asked = || setup.get("/cart", &["-H", "cookie: x=1", "-H", "cookie: session=a"]);
    assert_eq!(statuses([asked(), asked()]), [200, 429]);
    let setup = GRPC.start(KEYS, write_keys);
    let cookies = format!("cookie: a=1; key={KEY}; b=2");
    let told = setup.get("/free", &["-H", "cookie: c=3", "-H", &cookies]).body;
    assert!(
        told.contains(" cookie=c=3; a=1; b=2 verdict=pass subject=acme"),
        "{told}"
    );
}

const BODIES: &str = "
policies:
  - name: account
    match: { method: POST, path: /login }
    key: [body.form.user]
    body: { max_bytes: 1MiB }
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
  - name: exports
    match: { method: POST, path: /reports, body: { json.kind: export } }
    key: [client.ip]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
";

#[test]
fn bodies_are_looked_at_as_far_as_envoy_sends_them() {
    let most = 65_537;
    for variant in [GRPC, HTTP] {
        let setup = variant.start(BODIES, |_| {});
        let login = |body: &str, more: &[&str]| setup.get("/login", &[&["-d", body], more].concat());
        assert_eq!(
            statuses([login("user=zoe", &[]), login("user=zoe", &[])]),
            [200, 429]
        );
        let chunked = ["-H", "transfer-encoding: chunked"];
        assert_eq!(
            statuses([login("user=kim", &chunked), login("user=kim", &chunked)]),
            [200, 429]
        );
        // As much as Envoy sends, and one byte more.
        let long = |name: &str, bytes: usize| format!("user={name}&x={}", "a".repeat(bytes - 11));
        assert_eq!(
            statuses([login(&long("bob", most), &[]), login(&long("bob", most + 1), &[])]),
            [200, 413]
        );
        let report =
            |body: &str| setup.get("/reports", &["-H", "content-type: application/json", "-d", body]);
        let asked = [
            report(r#"{"kind":"view"}"#),
            report(r#"{"kind":"export"}"#),
            report(r#"{"kind":"export"}"#),
        ];
        assert_eq!(statuses(asked), [200, 200, 429]);
    }
}

#[test]
fn what_no_gateway_takes_is_refused_even_if_errors_let_requests_pass() {
    let policies = "
policies:
  - name: all
    key: [client.ip]
    limit: { algorithm: fixed_window, quota: 1, window: 1h }
";
    for variant in [GRPC, HTTP] {
        let setup = variant.start(policies, |example| {
            let text = fs::read_to_string(example.folder().join(variant.file)).unwrap();
            assert!(text.contains("failure_mode_allow: true"));
        });
        assert_eq!(setup.get("/", &[]).status, 200);
        let many: Vec<String> = (0..99).map(|number| format!("-Hx-{number}: 1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let long = format!("/{}", "a".repeat(9000));
        for arguments in [
            &["--request-target", "/search?a=<b>"][..],
            &["--request-target", "/search?a=\u{e9}^`|"],
            &["--request-target", "/a^`"],
            &["--request-target", &long],
            &["-H", "host: a b"],
            &["-H", "host: a.test, b.test"],
            &["-H", "host: user@a.test"],
            &["-H", "x: a\x7fb"],
            &["-H", "x\"y: a"],
            &["-X", "G,T"],
            &many,
        ] {
            let reply = setup.get("/", arguments);
            assert!((400..500).contains(&reply.status), "{arguments:?}: {reply:?}");
        }
    }
}

/// With certificates that clients need not have, and what the page shows beside.
fn speak_tls(example: &Example, file: &str, mutations: &str) {
    let authority = Authority::new();
    fs::write(example.folder().join("ca.pem"), &authority.root).unwrap();
    for name in ["server", "ann", "bob"] {
        let issued = authority.issue();
        fs::write(example.folder().join(format!("{name}.pem")), issued.certificate).unwrap();
        fs::write(example.folder().join(format!("{name}.key")), issued.key).unwrap();
    }
    let text = fs::read_to_string(example.folder().join(file)).unwrap();
    let (before, after) = text
        .split_once("      filter_chains:\n        - filters:\n")
        .unwrap();
    let remove = "                        - remove_on_match: { key_matcher: { prefix: x-tidegate-, ignore_case: true } }\n";
    assert!(after.contains(remove));
    let after = after.replacen(remove, &format!("{remove}{}", indented(mutations, 24)), 1);
    let listener = format!(
        "{before}{}      filter_chains:\n        - transport_socket:\n{}          filters:\n{after}",
        indented(block("listener_filters:"), 6),
        indented(TRANSPORT_SOCKET, 12)
    );
    fs::write(example.folder().join(file), listener).unwrap();
}

const TRANSPORT_SOCKET: &str = r#"name: envoy.transport_sockets.tls
typed_config:
  "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
  common_tls_context:
    tls_certificates: [{ certificate_chain: { filename: server.pem }, private_key: { filename: server.key } }]
    validation_context: { trusted_ca: { filename: ca.pem } }
"#;

const PAGE: &str = include_str!("../../../docs/envoy.md");

/// The block of the page that begins so.
fn block(beginning: &str) -> &'static str {
    blocks(PAGE, "yaml")
        .find(|block| block.starts_with(beginning))
        .unwrap()
}

fn indented(text: &str, by: usize) -> String {
    text.lines()
        .map(|line| format!("{}{line}\n", " ".repeat(by)))
        .collect()
}

#[test]
fn names_certificates_and_fingerprints_of_tls_count() {
    let policies = |name: &str, certificate: &str| {
        format!(
            "
policies:
  - {{ name: name, match: {{ path: /name }}, key: ['{name}'], limit: {{ algorithm: fixed_window, quota: 1, window: 1h }} }}
  - {{ name: client, match: {{ path: /client }}, key: ['{certificate}'], on_missing: skip, limit: {{ algorithm: fixed_window, quota: 1, window: 1h }} }}
  - {{ name: hello, match: {{ path: /hello }}, key: [header.x-ja3], limit: {{ algorithm: fixed_window, quota: 1, window: 1h }} }}
"
        )
    };
    let mutations = block("- append:");
    for (variant, policies) in [
        (GRPC, policies("tls.server_name", "tls.client_certificate.sha256")),
        (
            HTTP,
            policies("header.x-server-name", "header.x-client-certificate"),
        ),
    ] {
        let setup = variant.start(&policies, |example| speak_tls(example, variant.file, mutations));
        let port = setup.example.url(variant.proxy.ports[0], "");
        let port = port.rsplit_once(':').unwrap().1.to_owned();
        let status = |host: &str, path: &str, more: &[&str]| {
            let url = format!("https://{host}:{port}{path}");
            let resolve = format!("{host}:{port}:127.0.0.1");
            let folder = setup.example.folder().to_str().unwrap().to_owned();
            let more: Vec<String> = more.iter().map(|part| part.replace("DIR", &folder)).collect();
            let more = more.iter().map(String::as_str);
            let fixed = [url.as_str(), "--insecure", "--resolve", &resolve];
            curl(&fixed.into_iter().chain(more).collect::<Vec<_>>()).status
        };
        let names = ["a.test", "A.test", "b.test"].map(|host| status(host, "/name", &[]));
        assert_eq!(names, [200, 429, 200]);
        let ann = ["--cert", "DIR/ann.pem", "--key", "DIR/ann.key"];
        let bob = ["--cert", "DIR/bob.pem", "--key", "DIR/bob.key"];
        let clients = [&ann[..], &ann, &bob, &[], &[]].map(|more| status("a.test", "/client", more));
        assert_eq!(clients, [200, 429, 200, 200, 200]);
        let lie = ["-H", "x-ja3: another"];
        let old = ["--tls-max", "1.2"];
        let hellos = [&[][..], &lie, &old].map(|more| status("a.test", "/hello", more));
        assert_eq!(hellos, [200, 429, 200]);
    }
}

#[test]
fn what_a_failing_store_leaves_undecided_is_answered_as_envoy_is_told() {
    let store = Port::claim();
    let policies = format!(
        "
store: redis://127.0.0.1:{}
policies: [{{ name: all, key: [client.ip], on_store_failure: deny, limit: {{ quota: 5, window: 1m }} }}]
",
        store.number()
    );
    let allows = "failure_mode_allow: true";
    let denies = "failure_mode_allow: false";
    let told = |variant: &Variant, said: &str| {
        let setup = variant.start(&policies, |example| example.change(variant.file, allows, said));
        setup.get("/", &["-H", "x-tidegate-verdict: forged"])
    };
    let passed = told(&GRPC, allows);
    assert_eq!(passed.status, 200);
    assert!(passed.body.contains("verdict=- "), "{passed:?}");
    // What Tidegate says is what the client gets.
    let refused = told(&GRPC, denies);
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("limiter_failed"), "{refused:?}");
    assert_eq!(refused.field("x-tidegate-failure"), Some("unavailable"));
    // Over HTTP a failure would be 5xx, so this is an answer.
    for said in [allows, denies] {
        let refused = told(&HTTP, said);
        assert_eq!(
            (refused.status, refused.field("x-tidegate-status")),
            (403, Some("503"))
        );
    }
}
