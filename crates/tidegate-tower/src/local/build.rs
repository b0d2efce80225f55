//! From what policies say to a limiter.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use tidegate_clock::Clock;
use tidegate_core::KeyHasher;
use tidegate_counters::Counters;
use tidegate_policy::{
    ApiKeySettings, ApiKeys, Config, Identifier, KeySet, KeySets, Keyring, PolicyFile, Tokens, compile,
};
use tidegate_store::{MOST_WAITING, Memory, Store, Turns};

use super::{BuildError, FixedKeys, Limiter, NoStore};

/// What messages call the text of policies.
const NAME: &str = "policies";

/// Makes a [`Limiter`]: policies, and what they need that a text cannot say.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    keyring: Option<Keyring>,
    token_keys: Vec<Arc<KeySet>>,
    key_secret: Option<Vec<u8>>,
    clock: Clock,
}

/// The shortest secret under which counters in a store are named.
const LEAST_SECRET_BYTES: usize = 16;

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
            key_secret: None,
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

    /// The secret under which counters in the store are named, if the policies say `key_secret_env` or `key_secret_file`: 16 random bytes or more, the same for
    /// all that count together.
    #[must_use]
    pub fn key_secret(self, secret: impl Into<Vec<u8>>) -> Self {
        Self {
            key_secret: Some(secret.into()),
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
        let memory = self.memory();
        self.finish(Counters::local(memory))
    }

    /// A limiter with counters in `store`, and in memory for policies that are `local`. The policies have to say `store`; where that leads is not looked at.
    ///
    /// # Errors
    /// The same.
    pub fn build_on<S: Store>(mut self, store: S) -> Result<Limiter<S>, BuildError> {
        let shared = self.config.store.shared.as_ref();
        let shared = shared.ok_or(BuildError::NothingShared)?;
        match &self.key_secret {
            Some(secret) if secret.len() >= LEAST_SECRET_BYTES => {
                self.config.policies.name_shared_under(secret)
            }
            None if shared.key_secret.is_none() => {}
            _ => return Err(BuildError::NeedsKeySecret),
        }
        let memory = self.memory();
        let own_names = KeyHasher::new(random()?);
        self.finish(Counters::sharing(memory, store, own_names))
    }

    /// A limiter for the time in which nobody else decides: with the policies of a Tidegate service it does what that would do while its store fails. Policies that
    /// are `strict` go by their `on_store_failure`, with counters of this process for `local`; all others count in this process.
    ///
    /// # Errors
    /// The same.
    pub fn build_alone(self) -> Result<Limiter<NoStore>, BuildError> {
        let memory = self.memory();
        let counters = match self.config.store.shared {
            Some(_) => Counters::sharing(memory, NoStore, KeyHasher::new(random()?)),
            None => Counters::local(memory),
        };
        self.finish(counters)
    }

    fn memory(&self) -> Memory {
        Memory::new(self.config.table_size())
    }

    fn finish<S: Store>(self, counters: Counters<S>) -> Result<Limiter<S>, BuildError> {
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
            counters: Arc::new(counters),
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
