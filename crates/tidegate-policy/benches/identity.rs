//! What it costs to learn who asks, by token and by API key: `cargo bench -p tidegate-policy --bench identity`.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

use std::cell::RefCell;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use divan::Bencher;
use http::{HeaderMap, HeaderValue, Method, Version};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::json;
use tidegate_core::{KeyHasher, Timestamp};
use tidegate_policy::{
    ApiKeys, Body, Config, Identifier, Judging, KeyDigest, KeySet, KeySets, KeySource, Keyring, PolicyFile,
    Request, TokenCache, Tokens, compile,
};

#[path = "../src/identity/token/tests/pairs.rs"]
mod pairs;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::HS256,
    Algorithm::RS256,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

fn main() {
    divan::main();
}

/// A token that was not seen before: its signature is verified.
#[divan::bench(args = ALGORITHMS)]
fn a_new_token(bencher: Bencher<'_, '_>, algorithm: Algorithm) {
    let bed = Bed::of_tokens(algorithm);
    bencher
        .with_inputs(RefCell::default)
        .bench_local_refs(|cache| bed.identify(cache));
}

/// A token that this worker has seen before.
#[divan::bench(args = [Algorithm::HS256, Algorithm::RS256])]
fn a_token_seen_before(bencher: Bencher<'_, '_>, algorithm: Algorithm) {
    let bed = Bed::of_tokens(algorithm);
    let cache = RefCell::default();
    bed.identify(&cache);
    bencher.bench_local(|| bed.identify(&cache));
}

/// A key of so many in the file.
#[divan::bench(args = [1, 1000, 20_000])]
fn an_api_key(bencher: Bencher<'_, '_>, keys: usize) {
    let bed = Bed::of_api_keys(keys);
    let cache = RefCell::default();
    bencher.bench_local(|| bed.identify(&cache));
}

/// Who is known, and the header fields of one of them.
struct Bed {
    identifier: Identifier,
    keys: Fixed,
    headers: HeaderMap,
}

/// Keys that never change.
struct Fixed(Arc<KeySets>);

impl KeySource for Fixed {
    fn key_sets(&self) -> Arc<KeySets> {
        Arc::clone(&self.0)
    }

    fn lacks_key(&self, _issuer_index: usize) {}
}

impl Bed {
    fn of_tokens(algorithm: Algorithm) -> Self {
        let keys = match algorithm {
            Algorithm::HS256 => "secret_env: S",
            _ => "jwks: jwks.json",
        };
        let settings = config(&format!(
            "jwt: {{ issuer: i, audience: a, algorithms: [{algorithm:?}], {keys} }}"
        ));
        let pair = match algorithm {
            Algorithm::RS256 => Some(pairs::rsa()),
            Algorithm::ES256 => Some(pairs::p256()),
            Algorithm::ES384 => Some(pairs::p384()),
            Algorithm::EdDSA => Some(pairs::ed25519()),
            _ => None,
        };
        let (signer, set) = match pair {
            Some(pair) => {
                let jwks = json!({ "keys": [pair.jwk("k")] }).to_string();
                (pair.signer(), KeySet::parse(jwks.as_bytes()).unwrap())
            }
            None => (
                EncodingKey::from_secret(SECRET).unwrap(),
                KeySet::of_secret(SECRET, &[]).unwrap(),
            ),
        };
        let header = jsonwebtoken::Header::new(algorithm);
        let claims =
            json!({ "iss": "i", "aud": "a", "exp": 100, "sub": "ann", "plan": "pro", "org": "acme" });
        let token = jsonwebtoken::encode(&header, &claims, &signer).unwrap();
        Self {
            identifier: Identifier {
                tokens: settings.identity.jwt.map(|settings| Tokens { settings }),
                ..Identifier::default()
            },
            keys: fixed(vec![Some(Arc::new(set))]),
            headers: headers("authorization", &format!("Bearer {token}")),
        }
    }

    fn of_api_keys(count: usize) -> Self {
        let settings = config("api_key: { header: x-api-key, keys: keys.yaml }");
        let key = |number: usize| format!("tg_live_{number:032}");
        let entry = |number| {
            let digest = KeyDigest::new(key(number).as_bytes()).unwrap();
            format!("- {{ hash: '{digest}', subject: s{number}, tier: pro }}\n")
        };
        let text: String = (0..count).map(entry).collect();
        let file = PolicyFile {
            name: "keys.yaml",
            text: &text,
        };
        Self {
            identifier: Identifier {
                api_keys: settings.identity.api_key.map(|settings| ApiKeys {
                    settings,
                    keyring: Keyring::parse(file).unwrap(),
                }),
                ..Identifier::default()
            },
            keys: fixed(Vec::new()),
            headers: headers("x-api-key", &key(count / 2)),
        }
    }

    fn identify(&self, cache: &RefCell<TokenCache>) {
        let request = Request {
            method: &Method::GET,
            version: Version::HTTP_11,
            host: "a.example.com",
            path: "/api/orders",
            query: None,
            headers: &self.headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tls: None,
            body: &Body::UNREAD,
        };
        let judging = Judging {
            now: Timestamp::from_nanos(1),
            keys: &self.keys,
            cache,
            stored: &tidegate_policy::NoStoredKeys,
        };
        let found = self.identifier.identify(black_box(&request), &judging);
        assert!(found.is_ok_and(|identity| identity != tidegate_policy::Identity::Anonymous));
    }
}

fn config(identity: &str) -> Config {
    let text = format!(
        "identity: {{ {identity} }}\npolicies:\n  - {{ name: p, key: [identity], limit: {{ quota: 60, window: 1m }} }}\n"
    );
    let file = PolicyFile {
        name: "bench.yaml",
        text: &text,
    };
    compile(file, &KeyHasher::new([7; 16])).unwrap().config
}

fn fixed(sets: Vec<Option<Arc<KeySet>>>) -> Fixed {
    Fixed(Arc::new(KeySets { generation: 1, sets }))
}

fn headers(name: &'static str, value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_static("bench"));
    headers.insert(name, HeaderValue::from_str(value).unwrap());
    headers
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
