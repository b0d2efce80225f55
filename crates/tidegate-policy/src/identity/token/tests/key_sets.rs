//! Key sets and secrets.

use super::*;

#[test]
fn while_keys_rotate_tokens_of_both_hold_and_then_only_those_of_the_new_one() {
    let jwks = |pairs: &[(&Pair, &str)]| {
        let keys: Vec<Value> = pairs.iter().map(|(pair, kid)| pair.jwk(kid)).collect();
        Some(KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap())
    };
    let bed = Bed::new(
        vec![issuer(ISSUER, &["RS256", "ES256"])],
        vec![jwks(&[(rsa(), "old")])],
    );
    let (old, new) = (
        by(rsa(), Algorithm::RS256, Some("old")),
        by(p256(), Algorithm::ES256, Some("new")),
    );
    assert!(bed.judge(&old).is_ok());
    assert_eq!(bed.judge(&new), Err(TokenFault::UnknownKey));
    assert_eq!(bed.keys.lacked.get(), 1);
    bed.rotate(2, vec![jwks(&[(rsa(), "old"), (p256(), "new")])]);
    assert!(bed.judge(&old).is_ok() && bed.judge(&new).is_ok());
    bed.rotate(3, vec![jwks(&[(p256(), "new")])]);
    assert_eq!(bed.judge(&old), Err(TokenFault::UnknownKey));
    assert!(bed.judge(&new).is_ok());
}

#[test]
fn without_keys_nobody_can_tell_and_nothing_is_remembered() {
    let bed = Bed::new(vec![issuer(ISSUER, &["HS256"])], vec![None]);
    let token = hs256(&claims());
    assert_eq!(bed.judge(&token), Err(TokenFault::NoKeys));
    bed.rotate(1, vec![Some(secret_set(SECRET))]);
    assert!(bed.judge(&token).is_ok());
}

#[test]
fn key_sets_hold_public_keys_for_signatures_only() {
    let parse = |keys: Value| KeySet::parse(json!({ "keys": keys }).to_string().as_bytes());
    let changed = |name: &str, value: Value| {
        let mut jwk = rsa().jwk("1");
        jwk[name] = value;
        jwk
    };
    let small = json!({ "kty": "RSA", "n": encoded(&[0xff; 255]), "e": "AQAB" });
    let huge = json!({ "kty": "RSA", "n": encoded(&[0xff; 1025]), "e": "AQAB" });
    for unfit in [
        json!({ "kty": "oct", "k": encoded(SECRET) }),
        json!({ "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
        json!("text"),
        small,
        huge,
        changed("use", "enc".into()),
        changed("key_ops", json!(["sign"])),
        changed("alg", "ES256".into()),
        changed("alg", "RSA-OAEP".into()),
        changed("n", "=".into()),
    ] {
        assert_eq!(parse(json!([unfit])).unwrap_err(), BadKeySet::NoneFits, "{unfit}");
        assert_eq!(parse(json!([unfit, rsa().jwk("1")])).unwrap().len(), 1, "{unfit}");
    }
    assert_eq!(
        parse(json!([changed("key_ops", json!(["verify"]))]))
            .unwrap()
            .len(),
        1
    );
    assert_eq!(parse(json!({})).unwrap_err(), BadKeySet::NoList);
    assert_eq!(KeySet::parse(b"<html>").unwrap_err(), BadKeySet::NotJson);
    let many = |count: usize| parse(json!(vec![ed25519().jwk("1"); count]));
    assert_eq!(many(100).unwrap().len(), 100);
    assert_eq!(many(101).unwrap_err(), BadKeySet::TooMany);
    let long = format!(
        "{}{}",
        json!({ "keys": [rsa().jwk("1")] }),
        " ".repeat(MAX_KEY_SET_BYTES)
    );
    assert_eq!(KeySet::parse(long.as_bytes()).unwrap_err(), BadKeySet::TooLong);
    assert!(KeySet::parse(&long.as_bytes()[..MAX_KEY_SET_BYTES]).is_ok());
}

#[test]
fn a_secret_is_as_long_as_the_hash_of_its_algorithm() {
    let of = |bytes: usize, names: &[&str]| {
        let algorithms: Vec<JwtAlgorithm> = names.iter().map(|name| name.parse().unwrap()).collect();
        KeySet::of_secret(&vec![b'x'; bytes], &algorithms).map(|set| set.len())
    };
    assert_eq!(of(32, &["HS256"]), Ok(1));
    assert_eq!(of(31, &["HS256"]), Err(WeakSecret { least: 32 }));
    assert_eq!(of(47, &["HS256", "HS384"]), Err(WeakSecret { least: 48 }));
    assert_eq!(of(63, &["HS512"]), Err(WeakSecret { least: 64 }));
}

#[test]
fn nothing_shows_a_token_or_a_key() {
    let bed = Bed::secret();
    let token = hs256(&claims());
    let judged = bed.judge(&token);
    let shown = format!("{:?} {:?} {judged:?}", bed.cache.borrow(), bed.keys.sets.borrow());
    assert!(
        !shown.contains(&token[..20]) && !shown.contains("0123456789"),
        "{shown}"
    );
}
