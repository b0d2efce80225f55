//! A file around each field: right without it, or lacking it alone.

/// Where the field is written.
pub(crate) const HOLE: &str = "HOLE";

/// A file around the field `name` of the mapping that the schema calls `what`.
pub(crate) fn file_around(what: &str, name: &str) -> &'static str {
    match (what, name) {
        ("a policy file", _) => "answers: {}\nHOLE",
        ("`gateway`", "forwarded_field") => "gateway:\n  trusted_hops: 1\n  HOLE",
        ("`gateway`", _) => "gateway: { HOLE }",
        ("`timeouts`", _) => "gateway: { timeouts: { HOLE } }",
        ("`limits`", _) => "gateway: { limits: { HOLE } }",
        ("`tls`", _) => {
            "gateway:\n  listen:\n    address: 0.0.0.0:1\n    tls:\n      certificates: { certificate: a, key: b }\n      client_ca: c\n      HOLE"
        }
        ("an upstream", _) => "upstreams:\n  a:\n    servers: [http://a, http://b]\n    HOLE",
        ("a server", _) => "upstreams:\n  a:\n    servers:\n      url: http://a\n      HOLE",
        ("`tls` of an upstream", _) => "upstreams:\n  a:\n    servers: https://a\n    tls: { HOLE }",
        ("`health`", _) => "upstreams:\n  a:\n    servers: http://a\n    health:\n      path: /\n      HOLE",
        ("`ejection`", _) => "upstreams:\n  a:\n    servers: http://a\n    ejection: { HOLE }",
        ("a route", _) => "routes:\n  - match: { path: /a }\n    upstream: http://a\n    HOLE",
        ("`store`", "database") => "store:\n  sentinel: a\n  service: b\n  HOLE",
        ("`store`", _) => "store:\n  redis: redis://a\n  HOLE",
        ("`identity`", _) => {
            "identity:\n  api_key: { header: a, keys: b }\n  jwt: { issuer: a, audience: b, algorithms: RS256, jwks: c }\n  HOLE"
        }
        ("`api_key`", "cache" | "stale") => {
            "store: redis://a\nidentity:\n  api_key:\n    header: a\n    keys: store\n    HOLE"
        }
        ("`api_key`", _) => "store: redis://a\nidentity:\n  api_key:\n    header: a\n    keys: b\n    HOLE",
        ("`jwt`", _) => {
            "identity:\n  jwt:\n    issuer: a\n    audience: b\n    algorithms: RS256\n    jwks: c\n    HOLE"
        }
        ("a door for Redis", _) => "store: redis://a\ndoors:\n  redis:\n    listen: 1\n    HOLE",
        ("`answers`", _) => "answers: { HOLE }",
        ("`reject`", _) => {
            "answers:\n  reject:\n    body: 1\n    HOLE\npolicies:\n  - { name: a, key: host, limit: { quota: 1, window: 1s } }"
        }
        ("`access_log`", _) => "access_log:\n  to: stdout\n  HOLE",
        ("a policy", "on_store_failure" | "local_share") => {
            "store: redis://a\npolicies:\n  - name: a\n    key: host\n    limit: { quota: 9, window: 1s }\n    HOLE"
        }
        ("a policy", "on_error") => {
            "policies:\n  - name: a\n    key: host\n    when: 'true'\n    limit: { quota: 9, window: 1s }\n    HOLE"
        }
        ("a policy", _) => {
            "policies:\n  - name: a\n    key: host\n    limit: { quota: 9, window: 1s }\n    HOLE"
        }
        ("`body`", _) => {
            "policies:\n  - name: a\n    key: body.json.a\n    limit: { quota: 1, window: 1s }\n    body: { HOLE }"
        }
        ("a limit", "algorithm") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      quota: 1\n      window: 1s\n      HOLE"
        }
        ("a limit", "quota") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      window: 1s\n      HOLE"
        }
        ("a limit", "burst") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      quota: 1\n      window: 1s\n      HOLE"
        }
        ("a limit", "slots") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: concurrency\n      HOLE"
        }
        ("a limit", "ttl") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: concurrency\n      slots: 1\n      HOLE"
        }
        ("a limit", "time_zone") => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: fixed_window\n      quota: 1\n      window: day\n      HOLE"
        }
        ("a window", _) => {
            "policies:\n  - name: a\n    key: host\n    limit:\n      algorithm: fixed_window\n      quota: 1\n      window:\n        calendar: day\n        HOLE"
        }
        ("a schedule", _) => {
            "policies:\n  - name: a\n    key: host\n    limit: { quota: 1, window: 1s }\n    schedule:\n      days: mon\n      HOLE"
        }
        _ => panic!("no file around `{name}` of {what}: write one here"),
    }
}
