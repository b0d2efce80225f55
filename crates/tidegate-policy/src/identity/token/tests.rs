//! Tokens that hold, and each way in which one does not.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use http::HeaderName;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{fields, get};
use crate::{Claims, JwtAlgorithm, JwtKeys};

mod key_sets;
mod pairs;
use pairs::{Pair, ed25519, p256, p384, rsa};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const ISSUER: &str = "https://login.example.com";
/// When the tests take place, in seconds.
const NOW: u64 = 1_800_000_000;

fn issuer(name: &str, algorithms: &[&str]) -> JwtIssuer {
    JwtIssuer {
        issuer: name.into(),
        audiences: vec!["api".to_owned(), "other".to_owned()],
        algorithms: algorithms.iter().map(|name| name.parse().unwrap()).collect(),
        keys: JwtKeys::File("jwks.json".to_owned()),
        refresh: Duration::from_secs(300),
        leeway: Duration::from_secs(30),
        subject: ClaimPath::new("sub").unwrap(),
        subject_prefix: String::new(),
        tier: ClaimPath::new("plan"),
    }
}

/// Tokens of one issuer, its keys, and what was asked of them.
struct Bed {
    tokens: Tokens,
    keys: Keys,
    cache: RefCell<TokenCache>,
    now: u64,
}

struct Keys {
    sets: RefCell<Arc<KeySets>>,
    lacked: Cell<usize>,
}

impl KeySource for Keys {
    fn key_sets(&self) -> Arc<KeySets> {
        self.sets.borrow().clone()
    }

    fn lacks_key(&self, _issuer_index: usize) {
        self.lacked.set(self.lacked.get() + 1);
    }
}

impl Bed {
    fn new(issuers: Vec<JwtIssuer>, sets: Vec<Option<KeySet>>) -> Self {
        let bed = Self {
            tokens: Tokens {
                settings: JwtSettings {
                    issuers,
                    places: vec![
                        TokenPlace::Header(http::header::AUTHORIZATION),
                        TokenPlace::Header(HeaderName::from_static("x-token")),
                        TokenPlace::Cookie("token".to_owned()),
                    ],
                    beside_api_keys: false,
                    on_missing: Treatment::Anonymous,
                    on_invalid: Treatment::Reject,
                },
            },
            keys: Keys {
                sets: RefCell::default(),
                lacked: Cell::new(0),
            },
            cache: RefCell::default(),
            now: NOW,
        };
        bed.rotate(1, sets);
        bed
    }

    /// One issuer with a shared secret.
    fn secret() -> Self {
        let algorithms = ["HS256", "HS384", "HS512"];
        Self::new(vec![issuer(ISSUER, &algorithms)], vec![Some(secret_set(SECRET))])
    }

    /// One issuer with the public keys of `jwks`.
    fn public(algorithms: &[&str], jwks: &Value) -> Self {
        let set = KeySet::parse(jwks.to_string().as_bytes()).unwrap();
        Self::new(vec![issuer(ISSUER, algorithms)], vec![Some(set)])
    }

    fn rotate(&self, generation: u64, sets: Vec<Option<KeySet>>) {
        let sets = sets.into_iter().map(|set| set.map(Arc::new)).collect();
        self.keys.sets.replace(Arc::new(KeySets { generation, sets }));
    }

    fn prove(&self, headers: &[(&str, &str)]) -> Result<Option<Identity>, TokenFault> {
        let judging = Judging {
            now: Timestamp::from_nanos(self.now * 1_000_000_000),
            keys: &self.keys,
            cache: &self.cache,
            stored: &crate::NoStoredKeys,
        };
        match self.tokens.prove(&get(&fields(headers)), &judging) {
            Proof::Absent => Ok(None),
            Proof::Doubtful(fault) => Err(fault),
            Proof::Holds(identity) => Ok(Some(identity)),
        }
    }

    /// The subject of `token`, judged twice: what is remembered says the same.
    #[track_caller]
    fn judge(&self, token: &str) -> Result<String, TokenFault> {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let first = self.prove(&headers);
        assert_eq!(self.prove(&headers), first);
        first.map(|identity| match identity {
            Some(Identity::Known { subject, .. }) => subject.to_string(),
            other => panic!("{other:?}"),
        })
    }
}

fn secret_set(secret: &[u8]) -> KeySet {
    KeySet::of_secret(secret, &[]).unwrap()
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": "api", "exp": NOW + 60, "sub": "ann" })
}

/// The usual claims with `name` changed, or taken off where it is null.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

/// A token with any header and claims, signed by `algorithm` with `key`.
fn signed(header: &Value, claims: &Value, algorithm: Algorithm, key: &EncodingKey) -> String {
    let part = |value: &Value| encoded(value.to_string().as_bytes());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

fn encoded(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// The usual header, and `claims` signed with [`SECRET`].
fn hs256(claims: &Value) -> String {
    let key = EncodingKey::from_secret(SECRET).unwrap();
    signed(
        &json!({ "alg": "HS256", "typ": "JWT" }),
        claims,
        Algorithm::HS256,
        &key,
    )
}

fn by(pair: &Pair, algorithm: Algorithm, kid: Option<&str>) -> String {
    let mut header = json!({ "alg": format!("{algorithm:?}") });
    if let Some(kid) = kid {
        header["kid"] = kid.into();
    }
    signed(&header, &claims(), algorithm, &pair.signer())
}

#[test]
fn each_algorithm_is_verified_with_its_kind_of_key() {
    let bed = Bed::secret();
    let secret = EncodingKey::from_secret(SECRET).unwrap();
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        let header = json!({ "alg": format!("{algorithm:?}") });
        let token = signed(&header, &claims(), algorithm, &secret);
        assert_eq!(bed.judge(&token), Ok("ann".to_owned()), "{algorithm:?}");
    }
    for (pair, algorithms) in [
        (
            rsa(),
            &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as &[&str],
        ),
        (p256(), &["ES256"]),
        (p384(), &["ES384"]),
        (ed25519(), &["EdDSA"]),
    ] {
        let bed = Bed::public(algorithms, &json!({ "keys": [pair.jwk("1")] }));
        for name in algorithms {
            let algorithm = name.parse::<JwtAlgorithm>().unwrap().0;
            assert_eq!(
                bed.judge(&by(pair, algorithm, Some("1"))),
                Ok("ann".to_owned()),
                "{name}"
            );
            assert_eq!(
                bed.judge(&by(pair, algorithm, None)),
                Ok("ann".to_owned()),
                "{name}"
            );
        }
    }
}

#[test]
fn a_signature_of_anybody_else_is_wrong() {
    let bed = Bed::secret();
    let token = hs256(&claims());
    let (message, signature) = token.rsplit_once('.').unwrap();
    let other = EncodingKey::from_secret(&[b'x'; 64]).unwrap();
    let forged = signed(&json!({ "alg": "HS256" }), &claims(), Algorithm::HS256, &other);
    let admin = encoded(with("sub", "root".into()).to_string().as_bytes());
    let swapped = format!("{}.{admin}.{signature}", message.split_once('.').unwrap().0);
    for token in [forged, swapped, format!("{message}."), format!("{message}.AAAA")] {
        assert_eq!(bed.judge(&token), Err(TokenFault::Signature), "{token}");
    }
}

#[test]
fn the_algorithm_has_to_be_allowed_and_to_fit_the_key() {
    let jwks = json!({ "keys": [rsa().jwk("1"), p256().jwk("2")] });
    // A public key as the secret of HMAC: what everybody knows would sign.
    let confused = EncodingKey::from_secret(rsa().jwk("1")["n"].as_str().unwrap().as_bytes()).unwrap();
    let hs = signed(
        &json!({ "alg": "HS256", "kid": "1" }),
        &claims(),
        Algorithm::HS256,
        &confused,
    );
    let bed = Bed::public(&["RS256", "ES256"], &jwks);
    assert_eq!(bed.judge(&hs), Err(TokenFault::Algorithm));
    assert_eq!(
        bed.judge(&by(rsa(), Algorithm::RS384, Some("1"))),
        Err(TokenFault::Algorithm)
    );
    // The named key is of another kind, and the right one is not tried in its place.
    assert!(bed.judge(&by(rsa(), Algorithm::RS256, Some("2"))).is_err());
    // Even if somebody allows HS beside public keys, no public key is a secret.
    let bed = Bed::public(&["RS256", "HS256"], &jwks);
    assert_eq!(bed.judge(&hs), Err(TokenFault::Algorithm));
}

#[test]
fn a_key_made_for_one_algorithm_verifies_no_other() {
    let mut jwk = rsa().jwk("1");
    jwk["alg"] = "RS256".into();
    let bed = Bed::public(&["RS256", "PS256"], &json!({ "keys": [jwk] }));
    assert_eq!(
        bed.judge(&by(rsa(), Algorithm::RS256, Some("1"))),
        Ok("ann".to_owned())
    );
    assert_eq!(
        bed.judge(&by(rsa(), Algorithm::PS256, Some("1"))),
        Err(TokenFault::Algorithm)
    );
}

#[test]
fn tokens_that_nobody_signed_are_refused_in_every_spelling() {
    let bed = Bed::secret();
    for name in ["none", "None", "NONE", "nOnE", "", "HS1"] {
        let header = encoded(json!({ "alg": name }).to_string().as_bytes());
        let claims = encoded(claims().to_string().as_bytes());
        assert_eq!(
            bed.judge(&format!("{header}.{claims}.")),
            Err(TokenFault::Algorithm),
            "{name}"
        );
        assert!(bed.judge(&format!("{header}.{claims}")).is_err());
    }
}

#[test]
fn what_is_no_signed_token_is_malformed() {
    let bed = Bed::secret();
    let key = EncodingKey::from_secret(SECRET).unwrap();
    let headed = |header: Value| signed(&header, &claims(), Algorithm::HS256, &key);
    let token = hs256(&claims());
    for token in [
        "x".to_owned(),
        "a.b".to_owned(),
        format!("{token}.{token}"),
        format!("{token}="),
        token.replacen('.', "..", 1),
        headed(json!({ "alg": "HS256", "crit": ["exp"] })),
        headed(json!({ "alg": "HS256", "crit": [] })),
        headed(json!({ "alg": "HS256", "b64": false })),
        headed(json!({ "alg": "HS256", "kid": 1 })),
        headed(json!({ "alg": "HS256", "kid": "k".repeat(257) })),
        headed(json!([])),
        hs256(&json!("text")),
        hs256(&json!([1])),
    ] {
        assert_eq!(bed.judge(&token), Err(TokenFault::Malformed), "{token}");
    }
}

#[test]
fn claims_have_a_greatest_depth() {
    let bed = Bed::secret();
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    // The object of the claims is the first level.
    assert!(
        bed.judge(&hs256(&with("deep", nested(jws::MAX_DEPTH - 1))))
            .is_ok()
    );
    assert_eq!(
        bed.judge(&hs256(&with("deep", nested(jws::MAX_DEPTH)))),
        Err(TokenFault::Malformed)
    );
    assert_eq!(
        bed.judge(&hs256(&with("deep", nested(200)))),
        Err(TokenFault::Malformed)
    );
}

#[test]
fn a_token_has_a_greatest_length() {
    let bed = Bed::secret();
    let of_length = |least: usize| {
        let longer = |padding: usize| hs256(&with("pad", "x".repeat(padding).into()));
        (0..).map(longer).find(|token| token.len() >= least).unwrap()
    };
    let start = of_length(0).len();
    let fits = hs256(&with(
        "pad",
        "x".repeat((MAX_TOKEN_BYTES - start) / 4 * 3 - 2).into(),
    ));
    assert!(
        fits.len() <= MAX_TOKEN_BYTES && fits.len() > MAX_TOKEN_BYTES - 8,
        "{}",
        fits.len()
    );
    assert!(bed.judge(&fits).is_ok());
    let beyond = hs256(&with(
        "pad",
        "x".repeat((MAX_TOKEN_BYTES - start) / 4 * 3 + 8).into(),
    ));
    assert!(beyond.len() > MAX_TOKEN_BYTES);
    assert_eq!(bed.judge(&beyond), Err(TokenFault::Malformed));
}

#[test]
fn each_claim_is_required_and_checked() {
    for (claims, expected) in [
        (with("iss", Value::Null), Err(TokenFault::UnknownIssuer)),
        (
            with("iss", "https://login.example.com/".into()),
            Err(TokenFault::UnknownIssuer),
        ),
        (with("iss", json!([ISSUER])), Err(TokenFault::UnknownIssuer)),
        (with("aud", Value::Null), Err(TokenFault::Audience)),
        (with("aud", "somebody".into()), Err(TokenFault::Audience)),
        (with("aud", json!(["somebody", 1])), Err(TokenFault::Audience)),
        (with("aud", json!(["somebody", "other"])), Ok("ann".to_owned())),
        (with("exp", Value::Null), Err(TokenFault::NoExpiry)),
        (with("exp", "1900000000".into()), Err(TokenFault::NoExpiry)),
        (with("exp", json!(-1)), Err(TokenFault::NoExpiry)),
        (with("exp", json!(1e300)), Ok("ann".to_owned())),
        (with("exp", json!(u64::MAX)), Ok("ann".to_owned())),
        (with("nbf", "soon".into()), Err(TokenFault::Malformed)),
        (with("sub", Value::Null), Err(TokenFault::NoSubject)),
        (with("sub", "".into()), Err(TokenFault::NoSubject)),
        (with("sub", json!(["ann"])), Err(TokenFault::NoSubject)),
        (with("sub", "a\nb".into()), Err(TokenFault::NoSubject)),
        (with("sub", "x".repeat(257).into()), Err(TokenFault::NoSubject)),
        (with("sub", json!(42)), Ok("42".to_owned())),
    ] {
        assert_eq!(Bed::secret().judge(&hs256(&claims)), expected, "{claims}");
    }
}

#[test]
fn time_is_checked_to_the_second_with_leeway_on_both_ends() {
    let at = |now: u64, claims: &Value| {
        let bed = Bed { now, ..Bed::secret() };
        bed.judge(&hs256(claims)).map(drop)
    };
    let until = with("exp", NOW.into());
    assert_eq!(at(NOW + 29, &until), Ok(()));
    assert_eq!(at(NOW + 30, &until), Err(TokenFault::Expired));
    let fraction = with("exp", json!(NOW as f64 + 0.5));
    assert_eq!(at(NOW + 30, &fraction), Ok(()));
    let begin = with("nbf", (NOW + 40).into());
    assert_eq!(at(NOW + 9, &begin), Err(TokenFault::NotYet));
    assert_eq!(at(NOW + 10, &begin), Ok(()));
}

#[test]
fn a_remembered_token_expires_and_one_that_was_early_is_judged_again() {
    let mut bed = Bed::secret();
    let token = hs256(&with("nbf", (NOW + 40).into()));
    assert_eq!(bed.judge(&token), Err(TokenFault::NotYet));
    bed.now = NOW + 41;
    assert!(bed.judge(&token).is_ok());
    bed.now = NOW + 89;
    assert!(bed.judge(&token).is_ok());
    bed.now = NOW + 90;
    assert_eq!(bed.judge(&token), Err(TokenFault::Expired));
}

#[test]
fn each_issuer_has_its_own_keys_and_rules() {
    let mut second = issuer("second", &["HS256"]);
    second.subject = ClaimPath::new("user.id").unwrap();
    second.subject_prefix = "second:".to_owned();
    let bed = Bed::new(
        vec![issuer(ISSUER, &["HS256"]), second],
        vec![Some(secret_set(SECRET)), Some(secret_set(&[b'2'; 32]))],
    );
    let of_second = json!({ "iss": "second", "aud": "api", "exp": NOW + 60, "user": { "id": 7 } });
    let key = EncodingKey::from_secret(&[b'2'; 32]).unwrap();
    let token = signed(&json!({ "alg": "HS256" }), &of_second, Algorithm::HS256, &key);
    assert_eq!(bed.judge(&token), Ok("second:7".to_owned()));
    assert_eq!(bed.judge(&hs256(&of_second)), Err(TokenFault::Signature));
    assert_eq!(bed.judge(&hs256(&claims())), Ok("ann".to_owned()));
}

#[test]
fn a_token_is_found_in_each_place_and_several_prove_nothing() {
    let bed = Bed::secret();
    let token = hs256(&claims());
    let bearer = format!("bearer {token}");
    let cookie = format!("a=b; token={token}");
    let holds = |headers: &[(&str, &str)]| bed.prove(headers).map(|identity| identity.is_some());
    assert_eq!(holds(&[("authorization", &bearer)]), Ok(true));
    assert_eq!(holds(&[("x-token", &token)]), Ok(true));
    assert_eq!(holds(&[("cookie", &cookie)]), Ok(true));
    assert_eq!(holds(&[]), Ok(false));
    assert_eq!(holds(&[("authorization", "Basic YTpi")]), Ok(false));
    assert_eq!(holds(&[("authorization", "Bearer ")]), Ok(false));
    assert_eq!(
        holds(&[("x-token", &token), ("x-token", &token)]),
        Err(TokenFault::Several)
    );
    assert_eq!(
        holds(&[("authorization", &bearer), ("cookie", &cookie)]),
        Err(TokenFault::Several)
    );
}

#[test]
fn claims_and_tier_come_along() {
    let bed = Bed::secret();
    let token = hs256(&with("plan", "pro".into()));
    let identity = bed.prove(&[("x-token", &token)]).unwrap().unwrap();
    assert_eq!(identity.claims().unwrap()["plan"], "pro");
    let Identity::Known { tier, issuer, .. } = identity else {
        panic!("nobody");
    };
    assert_eq!(tier.as_deref(), Some("pro"));
    assert_eq!(issuer.as_deref(), Some(ISSUER));
}

#[test]
fn a_claim_is_found_by_its_whole_name_or_by_its_path() {
    let claims: Claims = serde_json::from_value(json!({
        "https://example.com/plan": "a", "realm": { "plan": "b", "x": { "y": 1 } }, "realm.plan": "c"
    }))
    .unwrap();
    let found = |name: &str| ClaimPath::new(name).unwrap().of(&claims).cloned();
    assert_eq!(found("https://example.com/plan"), Some("a".into()));
    assert_eq!(found("realm.plan"), Some("c".into()));
    assert_eq!(found("realm.x.y"), Some(1.into()));
    assert_eq!(found("realm.y"), None);
    assert_eq!(found("plan.realm"), None);
    assert_eq!(ClaimPath::new("a..b"), None);
    assert_eq!(ClaimPath::new(""), None);
}
