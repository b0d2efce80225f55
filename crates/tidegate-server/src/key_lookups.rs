//! API keys that live in the shared store: what it said of them lately, and how it is asked for others.
//!
//! A request with a key that is not in the book waits for one question to the store, and all that come with the same key wait for
//! the same one. Answers are believed for a while; while the store does not answer, known keys are believed for longer.

mod figures;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tidegate_core::Timestamp;
use tidegate_policy::{KeyBook, KeyDigest, Lent, Stored, StoredKey, StoredKeySettings, StoredKeys, Told};
use tidegate_store::redis::api_keys::{ApiKeys, FoundKey, KeyError};

use crate::clock::Clock;

pub use figures::KeyFigures;
use figures::{Counters, count};

/// Questions to the store that are under way at one time. More are as if it did not answer: who invents keys takes no more of it.
pub const MOST_LOOKUPS: usize = 512;

/// Says what a store says of API keys.
#[derive(Debug)]
pub struct KeyLookups {
    store: Arc<dyn KeyStore>,
    book: Arc<KeyBook>,
    under_way: Arc<UnderWay>,
    counters: Arc<Counters>,
}

/// A store of API keys.
pub trait KeyStore: fmt::Debug + Send + Sync {
    /// What it says of the key with this digest, within its own time.
    fn find(&self, digest: KeyDigest) -> BoxFuture<'_, Result<Option<FoundKey>, KeyError>>;
}

impl KeyStore for ApiKeys {
    fn find(&self, digest: KeyDigest) -> BoxFuture<'_, Result<Option<FoundKey>, KeyError>> {
        async move { ApiKeys::find(self, digest.as_bytes()).await }.boxed()
    }
}

/// What was said lately, and for how long it is believed.
pub(crate) struct Lately<'l> {
    lookups: Option<&'l KeyLookups>,
    settings: StoredKeySettings,
}

type Answer = Option<Stored>;
type Question = Shared<BoxFuture<'static, Answer>>;

/// The questions that are under way.
#[derive(Default)]
struct UnderWay(Mutex<Questions>);

#[derive(Default)]
struct Questions {
    by_key: HashMap<KeyDigest, Asked>,
    /// The number of the last one.
    last: u64,
}

struct Asked {
    number: u64,
    question: WeakShared<BoxFuture<'static, Answer>>,
}

impl KeyLookups {
    /// Asks `store`.
    pub fn new(store: impl KeyStore + 'static) -> Self {
        Self {
            store: Arc::new(store),
            book: Arc::default(),
            under_way: Arc::default(),
            counters: Arc::default(),
        }
    }

    /// What it has done so far.
    pub fn figures(&self) -> KeyFigures {
        self.counters.read()
    }

    /// Asks the store for a key. If it does not answer, what it said before counts for a while.
    pub(crate) async fn ask(&self, digest: KeyDigest, settings: StoredKeySettings, clock: &Clock) -> Told {
        let answer = match self.question(digest, clock) {
            Some(question) => question.await,
            None => {
                count(&self.counters.crowded);
                None
            }
        };
        let stored = answer.or_else(|| {
            let stale = self.book.stale(&digest, clock.now(), settings.stale);
            count(match stale {
                Some(_) => &self.counters.stale,
                None => &self.counters.refused,
            });
            stale
        });
        Told { digest, stored }
    }

    /// The question for a key, asked by whoever waits for it; none if there are too many.
    fn question(&self, digest: KeyDigest, clock: &Clock) -> Option<Question> {
        let mut under_way = self.under_way.lock();
        let asked = under_way.by_key.get(&digest);
        if let Some(question) = asked.and_then(|asked| asked.question.upgrade()) {
            count(&self.counters.shared);
            return Some(question);
        }
        if under_way.by_key.len() >= MOST_LOOKUPS {
            return None;
        }
        under_way.last += 1;
        let number = under_way.last;
        let end = End {
            digest,
            number,
            under_way: Arc::clone(&self.under_way),
        };
        let asked_at = clock.now();
        let (store, book) = (Arc::clone(&self.store), Arc::clone(&self.book));
        let counters = Arc::clone(&self.counters);
        let question = async move {
            let _end = end;
            let answer = store.find(digest).await;
            counters.answered(&answer);
            let stored = read(answer, digest)?;
            book.keep(digest, &stored, asked_at);
            Some(stored)
        };
        let question = question.boxed().shared();
        // It has not been polled, so it is there.
        if let Some(question) = question.downgrade() {
            under_way.by_key.insert(digest, Asked { number, question });
        }
        Some(question)
    }
}

impl<'l> Lately<'l> {
    /// What `lookups` knows, believed as `settings` say.
    pub(crate) fn of(lookups: Option<&'l KeyLookups>, settings: Option<StoredKeySettings>) -> Self {
        Self {
            lookups,
            settings: settings.unwrap_or_default(),
        }
    }
}

impl StoredKeys for Lately<'_> {
    fn find(&self, digest: &KeyDigest, now: Timestamp) -> Option<Stored> {
        let lookups = self.lookups?;
        let stored = lookups.book.fresh(digest, now, self.settings.cache);
        if stored.is_some() {
            count(&lookups.counters.remembered);
        }
        stored
    }
}

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, Questions> {
        // Each change of the map is whole or not made.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for UnderWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnderWay({})", self.lock().by_key.len())
    }
}

/// Ends a question, be it answered or given up by all who waited.
struct End {
    digest: KeyDigest,
    number: u64,
    under_way: Arc<UnderWay>,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        // Another one for the same key may have begun since nobody waits for this one.
        let is_this = |asked: &Asked| asked.number == self.number;
        if under_way.by_key.get(&self.digest).is_some_and(is_this) {
            under_way.by_key.remove(&self.digest);
        }
    }
}

/// What an answer means; none if it is none.
fn read(answer: Result<Option<FoundKey>, KeyError>, digest: KeyDigest) -> Answer {
    match answer {
        Ok(None) => Some(Stored::Absent),
        Ok(Some(found)) => Some(Stored::Key(Arc::new(key(found)))),
        Err(KeyError::Broken(bad)) => {
            tracing::error!(key = ?digest, "an API key in the store is broken, and refused as if the store did not answer: {bad}");
            None
        }
        // The link tells of a store that does not answer, once.
        Err(_) => None,
    }
}

fn key(found: FoundKey) -> StoredKey {
    let FoundKey { entry, lent } = found;
    let nanos = |secs: u64| Timestamp::from_nanos(secs.saturating_mul(1_000_000_000));
    StoredKey {
        subject: entry.subject.into(),
        tier: entry.tier.map(Into::into),
        revoked: entry.revoked.is_some(),
        lent: lent.map(|lent| Lent {
            tier: lent.tier.into(),
            until: lent.until.map(nanos),
        }),
    }
}

#[cfg(test)]
mod tests;
