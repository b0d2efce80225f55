//! From what policies say to a limiter.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use tidegate_clock::Clock;
use tidegate_core::KeyHasher;
use tidegate_policy::{
    ApiKeySettings, ApiKeys, Config, Identifier, KeySet, KeySets, Keyring, PolicyFile, Tokens, compile,
};
use tidegate_store::{MOST_WAITING, Memory, Store, Turns};

use super::{BuildError, FixedKeys, Limiter};

/// What messages call the text of policies.
const NAME: &str = "policies";

/// Makes a [`Limiter`]: policies, and what they need that a text cannot say.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    keyring: Option<Keyring>,
    token_keys: Vec<Arc<KeySet>>,
    clock: Clock,
}

impl Builder {
    /// By the policies that `text` says, as a policy file would.
    ///
    /// # Errors
    /// [`BuildError::Policies`] with everything that is wrong with it, or [`BuildError::ListFiles`].
    pub fn from_yaml(text: &str) -> Result<Self, BuildError> {
        let file = PolicyFile { name: NAME, text };
        let compiled = compile(file, &KeyHasher::new(random()?)).map_err(BuildError::Policies)?;
        match compiled.config.access.files().is_empty() {
            true => Ok(Self::new(compiled.config)),
            false => Err(BuildError::ListFiles),
        }
    }

    /// By a policy file that was compiled before. Its counters in memory must have been named under a secret that clients do not know.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            keyring: None,
            token_keys: Vec::new(),
            clock: Clock::system(),
        }
    }

    /// The API keys that are known, if the policies speak of such.
    #[must_use]
    pub fn api_keys(self, keyring: Keyring) -> Self {
        Self {
            keyring: Some(keyring),
            ..self
        }
    }

    /// The keys of each issuer of tokens, in the order of the policies' text.
    #[must_use]
    pub fn token_keys(self, keys: Vec<KeySet>) -> Self {
        Self {
            token_keys: keys.into_iter().map(Arc::new).collect(),
            ..self
        }
    }

    /// What says what time it is. Default: the machine's clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// A limiter with counters in this process's memory.
    ///
    /// # Errors
    /// [`BuildError`]: what the policies need and was not given.
    pub fn build(self) -> Result<Limiter, BuildError> {
        if self.config.store.shared.is_some() {
            return Err(BuildError::NeedsStore);
        }
        let memory = Memory::new(self.config.table_size());
        self.build_on(memory)
    }

    /// A limiter with counters in `store`.
    ///
    /// # Errors
    /// The same.
    pub fn build_on<S: Store>(self, store: S) -> Result<Limiter<S>, BuildError> {
        if self.config.policies.looks_at_bodies() {
            return Err(BuildError::LooksAtBodies);
        }
        let identity = &self.config.identity;
        let api_keys = match &identity.api_key {
            Some(settings) => Some(api_keys(settings, self.keyring)?),
            None => None,
        };
        let tokens = identity.jwt.clone().map(|settings| Tokens { settings });
        let issuers = tokens.as_ref().map_or(0, |tokens| tokens.settings.issuers.len());
        if issuers != self.token_keys.len() {
            return Err(BuildError::NeedsTokenKeys { issuers });
        }
        let sets = KeySets {
            generation: 0,
            sets: self.token_keys.into_iter().map(Some).collect(),
        };
        Ok(Limiter {
            identifier: Identifier {
                api_keys,
                tokens,
                order: identity.order,
            },
            token_keys: FixedKeys(Arc::new(sets)),
            tokens: Mutex::default(),
            store: Arc::new(store),
            clock: self.clock,
            turns: Turns::new(MOST_WAITING),
            // Processes that share a store tell their slots apart.
            holds: AtomicU64::new(u64::from_le_bytes(random()?)),
            config: self.config,
        })
    }
}

fn api_keys(settings: &ApiKeySettings, keyring: Option<Keyring>) -> Result<ApiKeys, BuildError> {
    if settings.stored.is_some() {
        return Err(BuildError::StoredApiKeys);
    }
    Ok(ApiKeys {
        settings: settings.clone(),
        keyring: keyring.ok_or(BuildError::NeedsApiKeys)?,
    })
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], BuildError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(BuildError::NoSecret)?;
    Ok(bytes)
}
