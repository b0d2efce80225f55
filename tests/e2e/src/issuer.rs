//! Who issues tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey as _};
use serde_json::{Value, json};

/// Signs tokens with a key of its own (Ed25519).
#[derive(Debug)]
pub struct TokenIssuer {
    key: KeyPair,
    /// What the key is called.
    kid: String,
}

impl TokenIssuer {
    /// With a new key called `kid`.
    pub fn new(kid: &str) -> Self {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        Self {
            key,
            kid: kid.to_owned(),
        }
    }

    /// A token of the issuer `me` for `you`, about `subject`, that does not expire in this century.
    pub fn token(&self, subject: &str) -> String {
        self.token_with(subject, json!({}))
    }

    /// The same with more claims.
    pub fn token_with(&self, subject: &str, mut claims: Value) -> String {
        let head = json!({ "alg": "EdDSA", "kid": self.kid });
        claims["iss"] = json!("me");
        claims["aud"] = json!("you");
        claims["sub"] = json!(subject);
        claims["exp"] = json!(4_000_000_000_u64);
        let signed = format!("{}.{}", encoded(head.to_string()), encoded(claims.to_string()));
        let signature = self.key.sign(signed.as_bytes()).unwrap();
        format!("{signed}.{}", encoded(signature))
    }

    /// The public keys of `issuers`, as they publish them.
    pub fn jwks(issuers: &[&Self]) -> String {
        let keys: Vec<Value> = issuers.iter().map(|issuer| issuer.public()).collect();
        json!({ "keys": keys }).to_string()
    }

    fn public(&self) -> Value {
        let x = encoded(self.key.public_key_raw());
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": x })
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
