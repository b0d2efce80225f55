//! Where API keys are known.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::compile::store::wait;
use crate::config::StoredKeySettings;
use crate::document::identity::ApiKeyText;
use crate::document::report::Report;
use crate::document::store::StoreText;

/// What stands for the store among the names of files.
const STORE: &str = "store";

/// How long it is believed what the store says: long enough to spare it, short enough to have a key stopped.
const CACHE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10 * 60);

/// How long keys are believed while the store does not answer.
const STALE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(24 * 60 * 60);

/// Where API keys are known.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) file: Option<String>,
    pub(super) stored: Option<StoredKeySettings>,
}

pub(super) fn sources(text: &ApiKeyText, store: Option<&StoreText>, report: &mut Report<'_>) -> Sources {
    let names = text.keys.as_deref().unwrap_or_default();
    let mut files = names.iter().filter(|name| name.value != STORE);
    let file = files.next();
    if let Some(second) = files.next() {
        let cure = "write one file, and `store` beside it if keys live in the store as well";
        report.error(second.at, "there is one file of keys", cure);
    }
    let mut stores = names.iter().filter(|name| name.value == STORE);
    let stored = stores.next();
    if let Some(second) = stores.next() {
        report.error(second.at, "`store` stands here twice", "remove one of the two");
    }
    if let Some(stored) = stored
        && !store.is_some_and(StoreText::is_shared)
    {
        report.error(
            stored.at,
            "keys live in the store, and no store is shared",
            "add `store: redis://127.0.0.1:6379`, or write `./store` if that is a file",
        );
    }
    let default = StoredKeySettings::default();
    let settings = StoredKeySettings {
        cache: text
            .cache
            .as_ref()
            .map_or(default.cache, |text| wait(text, CACHE, report)),
        stale: text
            .stale
            .as_ref()
            .map_or(default.stale, |text| wait(text, STALE, report)),
    };
    if text.keys.is_some() && stored.is_none() {
        for (name, written) in [("cache", &text.cache), ("stale", &text.stale)] {
            if let Some(written) = written {
                let message = format!("`{name}` says nothing here: no keys live in the store");
                report.error(written.at, message, "add `store` to `keys`, or remove it");
            }
        }
    }
    Sources {
        file: file.map(|file| file.value.clone()),
        stored: stored.map(|_| settings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PolicyFile, compile};

    const SHARED: &str = "store: redis://127.0.0.1:6379\npolicies: []\n";

    fn sources_of(fields: &str, rest: &str) -> Result<(Option<String>, Option<StoredKeySettings>), String> {
        let text = format!("{rest}identity: {{ api_key: {{ header: x-api-key, {fields} }} }}\n");
        let file = PolicyFile {
            name: "tidegate.yaml",
            text: &text,
        };
        let compiled = compile(file, &tidegate_core::KeyHasher::new([0; 16]))
            .map_err(|problems| problems.to_string())?;
        let api_key = compiled.config.identity.api_key.unwrap();
        Ok((api_key.keys, api_key.stored))
    }

    fn beliefs(cache: u64, stale: u64) -> Option<StoredKeySettings> {
        Some(StoredKeySettings {
            cache: Duration::from_secs(cache),
            stale: Duration::from_secs(stale),
        })
    }

    #[test]
    fn keys_are_in_a_file_or_the_store_or_both() {
        let file = || Some("keys.yaml".to_owned());
        assert_eq!(sources_of("keys: keys.yaml", SHARED), Ok((file(), None)));
        assert_eq!(sources_of("keys: store", SHARED), Ok((None, beliefs(10, 300))));
        assert_eq!(
            sources_of("keys: [keys.yaml, store], cache: 1s, stale: 0s", SHARED),
            Ok((file(), beliefs(1, 0)))
        );
        assert_eq!(
            sources_of("keys: [store], cache: 10m, stale: 24h", SHARED),
            Ok((None, beliefs(600, 86_400)))
        );
        assert_eq!(
            sources_of("keys: ./store", SHARED),
            Ok((Some("./store".to_owned()), None))
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_cure() {
        for (fields, rest, told) in [
            ("keys: store", "policies: []\n", "no store is shared"),
            (
                "keys: store",
                "store: memory\npolicies: []\n",
                "no store is shared",
            ),
            ("keys: [a.yaml, b.yaml]", SHARED, "there is one file of keys"),
            ("keys: [store, store]", SHARED, "stands here twice"),
            ("keys: keys.yaml, cache: 5s", SHARED, "`cache` says nothing here"),
            ("keys: keys.yaml, stale: 5s", SHARED, "`stale` says nothing here"),
            ("keys: store, cache: 999ms", SHARED, "out of range"),
            ("keys: store, cache: 601s", SHARED, "out of range"),
            ("keys: store, stale: 86401s", SHARED, "out of range"),
        ] {
            let problems = sources_of(fields, rest).unwrap_err();
            assert!(problems.contains(told), "{fields}: {problems}");
        }
    }
}
