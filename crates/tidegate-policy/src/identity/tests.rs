//! Which of several credentials decides.

use std::cell::RefCell;
use std::sync::Arc;

use http::HeaderName;
use tidegate_core::Timestamp;

use super::*;
use crate::fixture::{fields, get};
use crate::{ApiKeySettings, KeyPlace, PolicyFile, compile};

const KEY: &str = "tg_7f3Kq9ZpL2mX8vB4nR6tYw";
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The secret of one issuer.
struct OneSecret(Arc<KeySets>);

impl KeySource for OneSecret {
    fn key_sets(&self) -> Arc<KeySets> {
        self.0.clone()
    }

    fn lacks_key(&self, _issuer_index: usize) {}
}

/// An identifier as `identity` of a policy file describes it, which knows [`KEY`] and [`SECRET`].
fn identifier(identity: &str) -> Identifier {
    let text = format!("identity:\n{identity}\npolicies: []\n");
    let file = PolicyFile {
        name: "a.yaml",
        text: &text,
    };
    let compiled = compile(file, &tidegate_core::KeyHasher::new([0; 16]));
    let identity = compiled
        .unwrap_or_else(|problems| panic!("{problems}"))
        .config
        .identity;
    let keys = format!(
        "- {{ hash: '{}', subject: acme }}",
        KeyDigest::new(KEY.as_bytes()).unwrap()
    );
    let keyring = Keyring::parse(PolicyFile {
        name: "keys.yaml",
        text: &keys,
    });
    Identifier {
        api_keys: identity.api_key.map(|settings: ApiKeySettings| ApiKeys {
            settings,
            keyring: keyring.unwrap(),
        }),
        tokens: identity.jwt.map(|settings| Tokens { settings }),
        order: identity.order,
    }
}

const JWT: &str = "  jwt: { issuer: i, audience: a, algorithms: [HS256], secret_env: S";

fn token(subject: &str) -> String {
    let claims = serde_json::json!({ "iss": "i", "aud": "a", "exp": 100, "sub": subject });
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET).unwrap();
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
}

/// Whom `identifier` finds behind a request with these header fields: the subject, or the word of the refusal.
fn found(identifier: &Identifier, headers: &[(&str, &str)]) -> String {
    let secret = KeySet::of_secret(SECRET, &[]).unwrap();
    let keys = OneSecret(Arc::new(KeySets {
        generation: 1,
        sets: vec![Some(Arc::new(secret))],
    }));
    let judging = Judging {
        now: Timestamp::from_nanos(1),
        keys: &keys,
        cache: &RefCell::default(),
        stored: &NoStoredKeys,
    };
    match identifier.identify(&get(&fields(headers)), &judging) {
        Ok(Identity::Known { subject, issuer, .. }) => {
            format!(
                "{}{subject}",
                if issuer.is_some() { "token of " } else { "key of " }
            )
        }
        Ok(Identity::Anonymous) => "nobody".to_owned(),
        Err(IdentityRefusal::ApiKey(refusal)) => format!("{:?} key", refusal.fault),
        Err(IdentityRefusal::Token(fault)) => format!("{fault:?} token"),
    }
}

#[test]
fn the_first_kind_that_proves_something_decides() {
    let bearer = format!("Bearer {}", token("ann"));
    let both = [("authorization", bearer.as_str()), ("x-api-key", KEY)];
    let bad_token = [("authorization", "Bearer a.b.c"), ("x-api-key", KEY)];
    let bad_key = [("authorization", bearer.as_str()), ("x-api-key", "wrong")];
    let key = "  api_key: { header: x-api-key, keys: k";
    for (identity, headers, expected) in [
        (format!("{key} }}\n{JWT} }}"), &both, "token of ann"),
        (
            format!("{key} }}\n{JWT} }}\n  order: [api_key, jwt]"),
            &both,
            "key of acme",
        ),
        (format!("{key} }}\n{JWT} }}"), &bad_token, "Malformed token"),
        (
            format!("{key} }}\n{JWT}, on_invalid: anonymous }}"),
            &bad_token,
            "key of acme",
        ),
        (format!("{key} }}\n{JWT} }}"), &bad_key, "token of ann"),
        (
            format!("{key} }}\n{JWT} }}\n  order: [api_key, jwt]"),
            &bad_key,
            "Unknown key",
        ),
        (
            format!("{key}, on_unknown: anonymous }}\n{JWT} }}\n  order: [api_key, jwt]"),
            &bad_key,
            "token of ann",
        ),
    ] {
        assert_eq!(found(&identifier(&identity), headers), expected, "{identity}");
    }
}

#[test]
fn what_has_to_be_there_may_be_replaced_by_what_proves_as_much() {
    let key = "  api_key: { header: x-api-key, keys: k, on_missing: reject }";
    let identifier = identifier(&format!("{key}\n{JWT}, on_missing: reject }}"));
    let bearer = format!("Bearer {}", token("ann"));
    assert_eq!(found(&identifier, &[("authorization", &bearer)]), "token of ann");
    assert_eq!(found(&identifier, &[("x-api-key", KEY)]), "key of acme");
    assert_eq!(found(&identifier, &[]), "Missing token");
}

#[test]
fn a_key_and_a_token_can_stand_in_the_same_field() {
    let settings = format!("  api_key: {{ header: authorization, keys: k }}\n{JWT} }}");
    let (with_key, with_token) = (format!("Bearer {KEY}"), format!("Bearer {}", token("ann")));
    for order in ["", "\n  order: [api_key, jwt]"] {
        let identifier = identifier(&format!("{settings}{order}"));
        assert_eq!(found(&identifier, &[("authorization", &with_key)]), "key of acme");
        assert_eq!(
            found(&identifier, &[("authorization", &with_token)]),
            "token of ann"
        );
        assert_eq!(
            found(&identifier, &[("authorization", "Bearer eyJ.x.y")]),
            "Malformed token"
        );
        assert_eq!(
            found(&identifier, &[("authorization", "Bearer wrong")]),
            "Unknown key"
        );
    }
}

#[test]
fn a_key_is_looked_for_in_all_places_and_two_different_ones_prove_nothing() {
    let identifier = identifier("  api_key: { cookie: k, header: x-api-key, query: q, keys: k }");
    let settings = &identifier.api_keys.as_ref().unwrap().settings;
    assert_eq!(
        settings.places,
        [
            KeyPlace::Header(HeaderName::from_static("x-api-key")),
            KeyPlace::Query("q".to_owned()),
            KeyPlace::Cookie("k".to_owned()),
        ]
    );
    let cookie = format!("k={KEY}");
    assert_eq!(found(&identifier, &[("cookie", &cookie)]), "key of acme");
    assert_eq!(
        found(&identifier, &[("x-api-key", KEY), ("cookie", &cookie)]),
        "key of acme"
    );
    assert_eq!(
        found(
            &identifier,
            &[("x-api-key", KEY), ("cookie", "k=tg_another0key0of0somebody")]
        ),
        "Unknown key"
    );
    assert_eq!(
        found(&identifier, &[("x-api-key", ""), ("cookie", &cookie)]),
        "key of acme"
    );
}
