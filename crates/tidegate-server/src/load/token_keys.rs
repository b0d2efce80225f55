//! The keys of those who issue tokens, as far as files and the environment hold them.

use std::sync::Arc;
use std::{env, fmt, io};

use tidegate_policy::{BadKeySet, JwtIssuer, JwtKeys, JwtSettings, KeySet, WeakSecret};

use super::error::in_words;
use super::{Files, LoadError, PolicySource};
use crate::token_keys::{KeyOrigin, OriginKeys};

/// What is wrong with the keys of an issuer.
#[derive(Debug)]
#[non_exhaustive]
pub enum TokenKeysFault {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The environment variable is not set, or not text.
    NoVariable,
    /// The file is no key set.
    Bad(BadKeySet),
    /// The secret could be guessed.
    Weak(WeakSecret),
}

impl fmt::Display for TokenKeysFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => f.write_str(&in_words(error)),
            Self::NoVariable => f.write_str("it is not set"),
            Self::Bad(error) => error.fmt(f),
            Self::Weak(error) => error.fmt(f),
        }
    }
}

impl PolicySource {
    /// Where the keys of each issuer come from; those in files and in the environment are read now.
    pub(super) fn read_token_keys(
        &self,
        files: &mut Files,
        settings: &JwtSettings,
    ) -> Result<Vec<KeyOrigin>, LoadError> {
        let origins = settings.issuers.iter().map(|issuer| {
            let keys = self.read_keys_of(files, issuer)?;
            Ok(KeyOrigin {
                issuer: issuer.issuer.clone(),
                keys,
            })
        });
        origins.collect()
    }

    fn read_keys_of(&self, files: &mut Files, issuer: &JwtIssuer) -> Result<OriginKeys, LoadError> {
        let (place, read) = match &issuer.keys {
            JwtKeys::Url(url) => {
                return Ok(OriginKeys::At {
                    url: url.clone(),
                    refresh: issuer.refresh,
                });
            }
            JwtKeys::File(name) => {
                let path = self.folder().join(name);
                let text = files.read(&path).map_err(TokenKeysFault::Unreadable);
                let read = text.and_then(|text| KeySet::parse(&text).map_err(TokenKeysFault::Bad));
                (path.display().to_string(), read)
            }
            JwtKeys::SecretFile(name) => {
                let path = self.folder().join(name);
                let secret = files.read(&path).map_err(TokenKeysFault::Unreadable);
                let read = secret.and_then(|secret| of_secret(without_line_end(&secret), issuer));
                (path.display().to_string(), read)
            }
            JwtKeys::SecretEnv(name) => {
                let secret = env::var(name).map_err(|_| TokenKeysFault::NoVariable);
                let read = secret.and_then(|secret| of_secret(secret.as_bytes(), issuer));
                (format!("the environment variable {name}"), read)
            }
        };
        match read {
            Ok(set) => Ok(OriginKeys::Read(Arc::new(set))),
            Err(fault) => Err(LoadError::TokenKeys {
                place,
                named_in: self.name.clone(),
                fault,
            }),
        }
    }
}

fn of_secret(secret: &[u8], issuer: &JwtIssuer) -> Result<KeySet, TokenKeysFault> {
    KeySet::of_secret(secret, &issuer.algorithms).map_err(TokenKeysFault::Weak)
}

/// Editors end the last line of a file; that end is not part of the secret.
pub(super) fn without_line_end(secret: &[u8]) -> &[u8] {
    let secret = secret.strip_suffix(b"\n").unwrap_or(secret);
    secret.strip_suffix(b"\r").unwrap_or(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_part_of_a_secret() {
        for (text, secret) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("", ""),
        ] {
            assert_eq!(without_line_end(text.as_bytes()), secret.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn keys_that_cannot_be_used_say_where_they_should_be() {
        let load = |keys: &str| {
            let text = format!(
                "identity:\n  jwt: {{ issuer: i, audience: a, {keys} }}\npolicies: [{{ name: p, key: [identity], limit: {{ quota: 1, window: 1s }} }}]\n"
            );
            let source = PolicySource::read_from("t.yaml", text.as_bytes()).unwrap();
            let hasher = tidegate_core::KeyHasher::new([7; 16]);
            source.load(&hasher).map(drop).unwrap_err().to_string()
        };
        assert_eq!(
            load("algorithms: [HS256], secret_env: TIDEGATE_TEST_NO_SUCH_SECRET"),
            "cannot use the environment variable TIDEGATE_TEST_NO_SUCH_SECRET, the keys of tokens that t.yaml names: it is not set"
        );
        assert_eq!(
            load("algorithms: [RS256], jwks: /nowhere/jwks.json"),
            "cannot use /nowhere/jwks.json, the keys of tokens that t.yaml names: there is no such file"
        );
        assert_eq!(
            load("algorithms: [HS512], secret_file: /proc/sys/kernel/ostype"),
            "cannot use /proc/sys/kernel/ostype, the keys of tokens that t.yaml names: the secret is shorter than 64 bytes: make it at random"
        );
    }
}
