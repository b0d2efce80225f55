//! The store that a policy file names, and what keys and tiers it has.

use std::path::Path;
use std::time::Duration;

use tidegate_core::KeyHasher;
use tidegate_policy::{Config, StoredKeySettings};
use tidegate_server::clock::Clock;
use tidegate_server::key_store::{ApiKeys, Before, KeyEntry, LentTier, Redis, Settings, Shelf, StoreError};
use tidegate_server::load::PolicySource;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::output;

/// How long the store may take for one answer, the connection included.
const PATIENCE: Duration = Duration::from_secs(5);

/// How soon a store that does not answer is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The keys and tiers in the store of a policy file.
pub(super) struct Shelves {
    keys: ApiKeys,
    /// Holds the connections.
    _store: Redis,
    /// What the file calls the store.
    store_name: String,
    config: Config,
    runtime: Option<Runtime>,
}

/// A key as it is in the store.
pub(super) struct Kept {
    /// 64 hexadecimal digits.
    pub(super) digest: String,
    pub(super) bytes: Vec<u8>,
    /// None if somebody else wrote something that is no entry.
    pub(super) entry: Option<KeyEntry>,
}

impl Shelves {
    /// The store that the policy file at `config` names.
    pub(super) fn of(config: &Path) -> Result<Self, String> {
        // No counter is ever named here, so any secret does.
        let hasher = KeyHasher::new([0; 16]);
        let source = PolicySource::file(config).map_err(|error| error.to_string())?;
        let loaded = source.load(&hasher).map_err(|error| error.to_string())?;
        let config = loaded.config;
        let (Some(settings), Some(named)) = (loaded.store, &config.store.shared) else {
            return Err(format!(
                "{} has no store that could hold keys: add `store: redis://127.0.0.1:6379`, and `keys: store` to `identity.api_key`",
                source.name()
            ));
        };
        let store_name = named.to_string();
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot begin: {error}"))?;
        let settings = Settings {
            timeout: PATIENCE,
            ..settings
        };
        let store = Redis::new(&settings, runtime.handle().clone()).map_err(|error| error.to_string())?;
        Ok(Self {
            keys: store.api_keys(),
            _store: store,
            store_name,
            config,
            runtime: Some(runtime),
        })
    }

    /// Does `work` here.
    pub(super) fn run<T>(mut self, work: impl AsyncFnOnce(&Self) -> Result<T, String>) -> Result<T, String> {
        let Some(runtime) = self.runtime.take() else {
            return Err("it runs already".to_owned());
        };
        runtime.block_on(work(&self))
    }

    /// Says so if gateways with this file do not ask the store for keys.
    pub(super) fn say_if_unused(&self) {
        if self.beliefs().is_none() {
            output::note(
                "No gateway with this file asks the store for keys: add `keys: store` to `identity.api_key`.",
            );
        }
    }

    /// How long gateways believe what the store says.
    pub(super) fn beliefs(&self) -> Option<StoredKeySettings> {
        self.config.identity.api_key.as_ref()?.stored
    }

    /// Says so if no policy names `tier` while they name others.
    pub(super) fn say_if_unnamed(&self, tier: Option<&str>) {
        if let Some(tier) = tier
            && let Some(named) = self.config.policies.named_tiers()
            && !named.contains(tier)
        {
            let named: Vec<&str> = named.into_iter().collect();
            output::note(format_args!(
                "No policy names the tier {tier}: its keys get the limits of those without one. There are: {}.",
                named.join(", ")
            ));
        }
    }

    /// All keys, in the order of their digests.
    pub(super) async fn keys(&self) -> Result<Vec<Kept>, String> {
        let all = self.patiently(async || self.keys.all(Shelf::Keys).await).await?;
        let kept = all.into_iter().map(|(digest, bytes)| Kept {
            entry: KeyEntry::parse(&bytes).ok(),
            digest,
            bytes,
        });
        Ok(kept.collect())
    }

    /// The tiers that subjects have for a while, by subject; those that can be read.
    pub(super) async fn tiers(&self) -> Result<Vec<(String, LentTier)>, String> {
        let all = self.patiently(async || self.keys.all(Shelf::Tiers).await).await?;
        let read = |(subject, bytes): (String, Vec<u8>)| Some((subject, LentTier::parse(&bytes).ok()?));
        Ok(all.into_iter().filter_map(read).collect())
    }

    /// Changes a field; whether it held what `before` says.
    pub(super) async fn change(
        &self,
        shelf: Shelf,
        field: &str,
        before: Before<'_>,
        after: Option<&[u8]>,
    ) -> Result<bool, String> {
        self.patiently(async || self.keys.change(shelf, field, before, after).await)
            .await
    }

    /// Asks again until there is an answer.
    async fn patiently<T>(&self, ask: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, String> {
        let answered = async {
            loop {
                if let Ok(answer) = ask().await {
                    return answer;
                }
                sleep(AGAIN_AFTER).await;
            }
        };
        timeout(PATIENCE, answered)
            .await
            .map_err(|_| format!("the store {} does not answer", self.store_name))
    }
}

/// The time, in seconds since 1970.
pub(super) fn now() -> u64 {
    Clock::system().now().as_secs()
}

/// A moment in seconds since 1970, as people write it.
pub(super) fn moment(secs: u64) -> String {
    let moment = i64::try_from(secs)
        .ok()
        .and_then(|secs| jiff::Timestamp::from_second(secs).ok());
    moment.map_or_else(|| secs.to_string(), |moment| moment.to_string())
}

/// A span as people write it: `10s`.
pub(super) fn span(span: Duration) -> String {
    format!("{span:?}")
}
