//! API keys and tokens.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get as route;
use http::HeaderMap;
use jsonwebtoken::{EncodingKey, Header, encode};
use tidegate_tower::policy::{KeyDigest, KeySet, Keyring, PolicyFile};
use tidegate_tower::{Builder, Limiter, RateLimit};

use crate::web::{Heard, get, hear, peer, serve};

const KEY: &str = "tg_7Qm2vXw9LrB4nK8sYd3HfJ6p";
const POLICIES: &str = "
identity: { api_key: { header: x-api-key, keys: keys.yaml, strip: true } }
policies:
  - name: api
    key: [identity.subject]
    on_missing: fallback
    limit: { quota: 1, window: 1m }
    tiers: { pro: { quota: 3, window: 1m } }
";

fn keys() -> Keyring {
    let digest = KeyDigest::new(KEY.as_bytes()).unwrap();
    let text = format!("- {{ hash: '{digest}', subject: zoe, tier: pro }}");
    let file = PolicyFile {
        name: "keys.yaml",
        text: &text,
    };
    Keyring::parse(file).unwrap()
}

/// The address of a service that says whom its requests stand for.
async fn service(limiter: Limiter) -> SocketAddr {
    let told = async |fields: HeaderMap| {
        let text = |name| fields.get(name).map_or("-", |value| value.to_str().unwrap());
        let (subject, tier) = (text("x-tidegate-subject"), text("x-tidegate-tier"));
        format!("{subject} {tier} {}", text("x-api-key"))
    };
    let router = Router::new().route("/", route(told));
    serve(router.layer(RateLimit::new(limiter).peer(peer))).await
}

async fn with(address: SocketAddr, name: &'static str, value: &str) -> Heard {
    let mut request = get(address, "/");
    request.headers_mut().insert(name, value.parse().unwrap());
    hear(request).await
}

#[tokio::test]
async fn a_known_key_has_the_limits_of_its_tier_and_an_unknown_one_is_refused() {
    let builder = Builder::from_yaml(POLICIES).unwrap().api_keys(keys());
    let address = service(builder.build().unwrap()).await;
    for _ in 0..3 {
        assert_eq!(with(address, "x-api-key", KEY).await.text, "zoe pro -");
    }
    assert_eq!(with(address, "x-api-key", KEY).await.status, 429);
    assert_eq!(
        with(address, "x-api-key", "tg_unknown_key_of_nobody")
            .await
            .status,
        401
    );
}

const SECRET: &[u8] = b"a secret of thirty-two bytes, 123";
const TOKENS: &str = "
identity: { jwt: { issuer: me, audience: api, algorithms: [HS256], secret_env: UNREAD } }
policies: [{ name: api, key: [identity.subject], on_missing: fallback, limit: { quota: 5, window: 1m } }]
";

fn token(secret: &[u8]) -> String {
    let claims = serde_json::json!({ "iss": "me", "aud": "api", "sub": "zoe", "exp": 32_503_680_000_u64 });
    let key = EncodingKey::from_secret(secret).unwrap();
    format!("Bearer {}", encode(&Header::default(), &claims, &key).unwrap())
}

#[tokio::test]
async fn a_token_that_holds_says_whose_limit_counts_and_another_is_refused() {
    let key = KeySet::of_secret(SECRET, &["HS256".parse().unwrap()]).unwrap();
    let builder = Builder::from_yaml(TOKENS).unwrap().token_keys(vec![key]);
    let address = service(builder.build().unwrap()).await;
    for left in ["4", "3"] {
        let heard = with(address, "authorization", &token(SECRET)).await;
        assert_eq!(heard.text, "zoe - -");
        assert_eq!(heard.field("x-ratelimit-remaining"), Some(left));
    }
    let forged = with(
        address,
        "authorization",
        &token(b"another secret, as long as that one"),
    )
    .await;
    assert_eq!(forged.status, 401);
}
