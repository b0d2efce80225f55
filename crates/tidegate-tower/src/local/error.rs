//! Why there is no limiter.

use std::fmt;

use tidegate_policy::Problems;

/// Why policies make no limiter.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// Their text is wrong: everything, with line, column and cure.
    Policies(Problems),
    /// They look at bodies, which the layer leaves to the service.
    LooksAtBodies,
    /// They speak of API keys: give them with `Builder::api_keys`.
    NeedsApiKeys,
    /// They look API keys up in a shared store, which only the gateway does.
    StoredApiKeys,
    /// They speak of tokens: give the keys of each issuer with `Builder::token_keys`.
    NeedsTokenKeys {
        /// How many issuers they name.
        issuers: usize,
    },
    /// Their access lists are in files, which are not read here.
    ListFiles,
    /// They count in a shared store: give it to `Builder::build_on`.
    NeedsStore,
    /// A store was given, and they do not count in one.
    NothingShared,
    /// Counters in the store are named under a secret: give it, 16 bytes or more, with `Builder::key_secret`.
    NeedsKeySecret,
    /// The system has no randomness for the secret of the counters.
    NoSecret(getrandom::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policies(problems) => problems.fmt(f),
            Self::LooksAtBodies => {
                f.write_str("a policy looks at bodies: the layer leaves those to the service")
            }
            Self::NeedsApiKeys => {
                f.write_str("`identity.api_key` needs the known keys: give them with `Builder::api_keys`")
            }
            Self::StoredApiKeys => {
                f.write_str("`keys: store` is for gateways: give the known keys with `Builder::api_keys`")
            }
            Self::NeedsTokenKeys { issuers } => write!(
                f,
                "`identity.jwt` names {issuers} issuers: give the keys of each with `Builder::token_keys`"
            ),
            Self::ListFiles => f.write_str("`access` names files: write their entries into the text"),
            Self::NeedsStore => f.write_str("`store` names a shared store: give it to `Builder::build_on`"),
            Self::NothingShared => {
                f.write_str("no policy counts in the given store: write `store: redis://…` above the policies")
            }
            Self::NeedsKeySecret => f.write_str(
                "`store` names counters under a secret: give 16 bytes or more of it with `Builder::key_secret`",
            ),
            Self::NoSecret(error) => write!(f, "the system has no randomness: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Policies(problems) => Some(problems),
            Self::NoSecret(error) => Some(error),
            _ => None,
        }
    }
}
