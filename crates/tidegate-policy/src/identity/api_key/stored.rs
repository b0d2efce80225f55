//! API keys that live in a store, as far as they are known here.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::Timestamp;

use super::digest::KeyDigest;
use crate::identity::halves::Halves;
use crate::{Identity, Subject, Tier};

/// The most keys of a store that are remembered at one time.
pub const MAX_KNOWN_KEYS: usize = 65_536;

/// The most keys that are remembered to be none. They have room of their own, so that a flood of them pushes out none that is one.
pub const MAX_ABSENT_KEYS: usize = 65_536;

/// Parts of the book, each under a lock of its own.
const SHELVES: usize = 16;

/// Who knows what a store says of API keys. Asked while a request waits, so it answers from what it knows already.
pub trait StoredKeys {
    /// What the store says of the key with this digest; none if that is not known.
    fn find(&self, digest: &KeyDigest, now: Timestamp) -> Option<Stored>;
}

/// What a store says of an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// There is no such key.
    Absent,
    /// It stands for this.
    Key(Arc<StoredKey>),
}

/// An API key of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// Whom it stands for.
    pub subject: Subject,
    /// Their plan.
    pub tier: Option<Tier>,
    /// Whether it was revoked.
    pub revoked: bool,
    /// The plan that they have for a while instead.
    pub lent: Option<Lent>,
}

/// A plan for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The plan.
    pub tier: Tier,
    /// When it is over; none: never.
    pub until: Option<Timestamp>,
}

impl StoredKey {
    /// Whom it stands for, and with which plan at `now`.
    pub(super) fn identity(&self, now: Timestamp) -> Identity {
        let lent = self.lent.as_ref();
        let lent = lent.filter(|lent| lent.until.is_none_or(|until| now < until));
        let tier = lent.map(|lent| &lent.tier).or(self.tier.as_ref());
        Identity::of_api_key(self.subject.clone(), tier.cloned())
    }
}

/// No store has keys.
#[derive(Clone, Copy, Debug)]
pub struct NoStoredKeys;

impl StoredKeys for NoStoredKeys {
    fn find(&self, _digest: &KeyDigest, _now: Timestamp) -> Option<Stored> {
        None
    }
}

/// What a store just said of one key.
#[derive(Clone, Debug)]
pub struct Told {
    /// Of which key.
    pub digest: KeyDigest,
    /// What; none if it did not answer.
    pub stored: Option<Stored>,
}

impl StoredKeys for Told {
    fn find(&self, digest: &KeyDigest, _now: Timestamp) -> Option<Stored> {
        self.stored.clone().filter(|_| *digest == self.digest)
    }
}

/// What a store said of keys lately. Bounded, for many threads.
pub struct KeyBook {
    shelves: [Mutex<Shelf>; SHELVES],
}

/// What was said, and when it was asked for: from then on it may have been otherwise.
struct Said<T> {
    what: T,
    asked_at: Timestamp,
}

struct Shelf {
    known: Halves<KeyDigest, Said<Arc<StoredKey>>>,
    absent: Halves<KeyDigest, Said<()>>,
}

impl Default for KeyBook {
    fn default() -> Self {
        Self {
            shelves: std::array::from_fn(|_| {
                Mutex::new(Shelf {
                    known: Halves::holding(MAX_KNOWN_KEYS / SHELVES, usize::MAX),
                    absent: Halves::holding(MAX_ABSENT_KEYS / SHELVES, usize::MAX),
                })
            }),
        }
    }
}

impl KeyBook {
    /// What the store said of a key less than `cache` ago.
    pub fn fresh(&self, digest: &KeyDigest, now: Timestamp, cache: Duration) -> Option<Stored> {
        let mut shelf = self.shelf(digest);
        if let Some(said) = shelf.known.find(digest) {
            return said.if_within(cache, now).cloned().map(Stored::Key);
        }
        let said = shelf.absent.find(digest)?;
        said.if_within(cache, now).map(|()| Stored::Absent)
    }

    /// The key, if the store said less than `stale` ago that there is one: for when it does not answer. That there is none is not
    /// believed for longer.
    pub fn stale(&self, digest: &KeyDigest, now: Timestamp, stale: Duration) -> Option<Stored> {
        let mut shelf = self.shelf(digest);
        let said = shelf.known.find(digest)?;
        said.if_within(stale, now).cloned().map(Stored::Key)
    }

    /// Takes note of what the store said when it was asked at `asked_at`.
    pub fn keep(&self, digest: KeyDigest, stored: &Stored, asked_at: Timestamp) {
        let mut shelf = self.shelf(&digest);
        match stored {
            Stored::Key(key) => {
                let what = Arc::clone(key);
                shelf.absent.remove(&digest);
                shelf.known.add(digest, Said { what, asked_at }, 1);
            }
            Stored::Absent => {
                shelf.known.remove(&digest);
                shelf.absent.add(digest, Said { what: (), asked_at }, 1);
            }
        }
    }

    fn shelf(&self, digest: &KeyDigest) -> MutexGuard<'_, Shelf> {
        // Each step of a shelf is whole or not made.
        self.shelves[digest.first_byte() % SHELVES]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How many keys are remembered, and how many that are none.
    #[cfg(test)]
    fn len(&self) -> (usize, usize) {
        self.shelves.iter().fold((0, 0), |(known, absent), shelf| {
            let shelf = shelf.lock().unwrap();
            (known + shelf.known.len(), absent + shelf.absent.len())
        })
    }
}

impl<T> Said<T> {
    fn if_within(&self, span: Duration, now: Timestamp) -> Option<&T> {
        (now.saturating_since(self.asked_at) < span).then_some(&self.what)
    }
}

impl fmt::Debug for KeyBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBook")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: Duration = Duration::from_secs(10);
    const STALE: Duration = Duration::from_secs(300);

    fn digest(number: usize) -> KeyDigest {
        KeyDigest::new(format!("tg_abcdefghijklmnop{number:020}").as_bytes()).unwrap()
    }

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_nanos(secs * 1_000_000_000)
    }

    fn acme(lent: Option<Lent>) -> StoredKey {
        StoredKey {
            subject: "acme".into(),
            tier: Some("free".into()),
            revoked: false,
            lent,
        }
    }

    fn key() -> Stored {
        Stored::Key(Arc::new(acme(None)))
    }

    #[test]
    fn what_was_said_is_believed_for_its_time_from_the_question_on() {
        let book = KeyBook::default();
        book.keep(digest(1), &key(), at(100));
        book.keep(digest(2), &Stored::Absent, at(100));
        for (number, said) in [(1, key()), (2, Stored::Absent)] {
            assert_eq!(book.fresh(&digest(number), at(109), CACHE), Some(said));
            assert_eq!(book.fresh(&digest(number), at(110), CACHE), None);
        }
        assert_eq!(book.fresh(&digest(3), at(100), CACHE), None);
    }

    #[test]
    fn only_a_key_is_believed_for_longer_while_the_store_does_not_answer() {
        let book = KeyBook::default();
        book.keep(digest(1), &key(), at(100));
        book.keep(digest(2), &Stored::Absent, at(100));
        assert_eq!(book.stale(&digest(1), at(399), STALE), Some(key()));
        assert_eq!(book.stale(&digest(1), at(400), STALE), None);
        assert_eq!(book.stale(&digest(2), at(101), STALE), None);
    }

    #[test]
    fn the_last_answer_is_the_one_that_counts() {
        let book = KeyBook::default();
        let fresh = || book.fresh(&digest(1), at(101), CACHE);
        book.keep(digest(1), &key(), at(100));
        book.keep(digest(1), &Stored::Absent, at(101));
        assert_eq!(fresh(), Some(Stored::Absent));
        assert_eq!(book.stale(&digest(1), at(101), STALE), None);
        book.keep(digest(1), &key(), at(101));
        assert_eq!(fresh(), Some(key()));
    }

    #[test]
    fn a_flood_of_invented_keys_is_bounded_and_pushes_out_no_key() {
        let book = KeyBook::default();
        book.keep(digest(0), &key(), at(100));
        for number in 1..2 * MAX_ABSENT_KEYS {
            book.keep(digest(number), &Stored::Absent, at(100));
        }
        assert_eq!(book.fresh(&digest(0), at(100), CACHE), Some(key()));
        let (known, absent) = book.len();
        assert!(known == 1 && absent <= MAX_ABSENT_KEYS, "{absent}");
        for number in 1..2 * MAX_KNOWN_KEYS {
            book.keep(digest(number), &key(), at(100));
        }
        let (known, _) = book.len();
        assert!((MAX_KNOWN_KEYS / 2..=MAX_KNOWN_KEYS).contains(&known), "{known}");
    }

    #[test]
    fn a_lent_tier_holds_until_its_moment() {
        let tier = |until, now| {
            let lent = Some(Lent {
                tier: "pro".into(),
                until,
            });
            match acme(lent).identity(at(now)) {
                Identity::Known { tier, .. } => tier,
                Identity::Anonymous => None,
            }
        };
        assert_eq!(tier(Some(at(100)), 99).as_deref(), Some("pro"));
        assert_eq!(tier(Some(at(100)), 100).as_deref(), Some("free"));
        assert_eq!(tier(None, 1_000_000).as_deref(), Some("pro"));
    }
}
