//! The keys of those who issue tokens: read at load, or fetched from their addresses while requests come.
//!
//! No request waits for a key. What is known stands in [`TokenKeys`]; a thread of its own fetches what is due. While an address does
//! not answer, the keys that were there before stay in use.

mod fetch;
mod fetcher;
mod schedule;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::Uri;
use tidegate_policy::{KeySet, KeySets, KeySource};

pub use fetcher::Fetcher;

/// Where the keys of one issuer come from.
#[derive(Clone, Debug)]
pub struct KeyOrigin {
    /// The issuer, as tokens name it.
    pub issuer: Arc<str>,
    /// The keys, or where to fetch them.
    pub keys: OriginKeys,
}

/// The keys of one issuer, as files say.
#[derive(Clone, Debug)]
pub enum OriginKeys {
    /// These, until files say something else.
    Read(Arc<KeySet>),
    /// Those at this address.
    At {
        /// Where.
        url: Uri,
        /// How long they are used before they are fetched again, unless the answer says how long it may be kept.
        refresh: Duration,
    },
}

/// The keys of all issuers, as they are now.
#[derive(Debug, Default)]
pub struct TokenKeys {
    origins: Vec<KeyOrigin>,
    current: ArcSwap<KeySets>,
    states: Vec<State>,
}

/// What is known about one issuer besides its keys. Each flag stands alone: nothing else is published with it.
#[derive(Debug, Default)]
struct State {
    /// A token named a key that is not there.
    wanted: AtomicBool,
    /// The last time they were fetched, they could not be had.
    failing: AtomicBool,
}

/// How the keys of one issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStatus {
    /// The issuer.
    pub issuer: Arc<str>,
    /// How many keys it has; none if they were never there.
    pub keys: Option<usize>,
    /// Whether they could not be fetched the last time, so that those in use may be old.
    pub failing: bool,
}

impl TokenKeys {
    /// The keys of `origins`, in the order of the settings. Those with an address are not there yet.
    pub fn new(origins: Vec<KeyOrigin>) -> Self {
        let sets = origins.iter().map(|origin| match &origin.keys {
            OriginKeys::Read(set) => Some(set.clone()),
            OriginKeys::At { .. } => None,
        });
        Self {
            current: ArcSwap::from_pointee(generation(sets.collect())),
            states: origins.iter().map(|_| State::default()).collect(),
            origins,
        }
    }

    /// Takes over what `earlier` had fetched from the same addresses, so that a reload has no moment without keys.
    pub(crate) fn adopt(&self, earlier: &Self) {
        let fetched = earlier.current.load();
        for (index, origin) in self.origins.iter().enumerate() {
            let OriginKeys::At { url, .. } = &origin.keys else {
                continue;
            };
            let known = earlier.origins.iter().position(|known| known.is_at(url));
            if let Some(set) = known.and_then(|known| fetched.sets[known].clone()) {
                self.replace(index, set);
            }
        }
    }

    /// How the keys of each issuer are.
    pub fn status(&self) -> Vec<KeyStatus> {
        let current = self.current.load();
        let issuers = self.origins.iter().zip(&current.sets).zip(&self.states);
        issuers
            .map(|((origin, set), state)| KeyStatus {
                issuer: origin.issuer.clone(),
                keys: set.as_ref().map(|set| set.len()),
                failing: state.failing.load(Ordering::Relaxed),
            })
            .collect()
    }

    /// Gives the issuer new keys. Only one thread fetches, so nothing is lost between reading and writing.
    fn replace(&self, index: usize, set: Arc<KeySet>) {
        let mut sets = self.current.load().sets.clone();
        if let Some(place) = sets.get_mut(index) {
            *place = Some(set);
        }
        self.current.store(Arc::new(generation(sets)));
    }
}

/// For the policy crate, which does no I/O.
impl KeySource for TokenKeys {
    fn key_sets(&self) -> Arc<KeySets> {
        self.current.load_full()
    }

    fn lacks_key(&self, issuer_index: usize) {
        if let Some(state) = self.states.get(issuer_index) {
            state.wanted.store(true, Ordering::Relaxed);
        }
    }
}

impl KeyOrigin {
    fn is_at(&self, url: &Uri) -> bool {
        matches!(&self.keys, OriginKeys::At { url: own, .. } if own == url)
    }
}

/// `sets` under a number that no others in this process have.
fn generation(sets: Vec<Option<Arc<KeySet>>>) -> KeySets {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    KeySets {
        // Only has to differ from all others.
        generation: NEXT.fetch_add(1, Ordering::Relaxed),
        sets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &'static str) -> KeyOrigin {
        KeyOrigin {
            issuer: "i".into(),
            keys: OriginKeys::At {
                url: Uri::from_static(url),
                refresh: Duration::from_secs(300),
            },
        }
    }

    fn set() -> Arc<KeySet> {
        Arc::new(KeySet::of_secret(&[b'x'; 32], &[]).unwrap())
    }

    #[test]
    fn a_reload_keeps_the_keys_of_addresses_that_stay() {
        let before = TokenKeys::new(vec![at("https://a.test/"), at("https://b.test/")]);
        before.replace(1, set());
        let after = TokenKeys::new(vec![at("https://b.test/"), at("https://c.test/")]);
        after.adopt(&before);
        let keys: Vec<_> = after.status().into_iter().map(|status| status.keys).collect();
        assert_eq!(keys, [Some(1), None]);
    }

    #[test]
    fn no_two_collections_have_the_same_generation() {
        let keys = TokenKeys::new(vec![at("https://a.test/")]);
        let first = keys.key_sets().generation;
        keys.replace(0, set());
        let second = keys.key_sets().generation;
        assert_ne!(first, second);
        assert_ne!(second, TokenKeys::new(Vec::new()).key_sets().generation);
    }
}
