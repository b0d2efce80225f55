//! Key pairs, made for each run.

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair,
};
use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::encoded;

/// A private key and its public half.
pub(super) struct Pair {
    signer: EncodingKey,
    jwk: Value,
}

impl Pair {
    pub(super) fn signer(&self) -> EncodingKey {
        self.signer.clone()
    }

    /// The public key, called `kid`.
    pub(super) fn jwk(&self, kid: &str) -> Value {
        let mut jwk = self.jwk.clone();
        jwk["kid"] = kid.into();
        jwk
    }
}

pub(super) fn rsa() -> &'static Pair {
    /// The wrapping of PKCS #8 around the key of 2048 bits.
    const PKCS8_BYTES: usize = 26;
    static PAIR: LazyLock<Pair> = LazyLock::new(|| {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let private: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let public = pair.public_key();
        Pair {
            signer: EncodingKey::from_rsa_der(&private.as_ref()[PKCS8_BYTES..]),
            jwk: json!({
                "kty": "RSA",
                "n": encoded(public.modulus().big_endian_without_leading_zero()),
                "e": encoded(public.exponent().big_endian_without_leading_zero()),
            }),
        }
    });
    &PAIR
}

pub(super) fn p256() -> &'static Pair {
    static PAIR: LazyLock<Pair> = LazyLock::new(|| ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"));
    &PAIR
}

pub(super) fn p384() -> &'static Pair {
    static PAIR: LazyLock<Pair> = LazyLock::new(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"));
    &PAIR
}

pub(super) fn ed25519() -> &'static Pair {
    static PAIR: LazyLock<Pair> = LazyLock::new(|| {
        let private = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(private.as_ref()).unwrap();
        Pair {
            signer: EncodingKey::from_ed_der(private.as_ref()),
            jwk: json!({ "kty": "OKP", "crv": "Ed25519", "x": encoded(pair.public_key().as_ref()) }),
        }
    });
    &PAIR
}

fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm, curve: &str) -> Pair {
    let private = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref()).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
    Pair {
        signer: EncodingKey::from_ec_der(private.as_ref()),
        jwk: json!({ "kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y) }),
    }
}
