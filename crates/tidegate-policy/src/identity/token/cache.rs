//! What was found out about earlier tokens, so that a signature is verified once and not with every request.

use std::fmt;

use sha2::{Digest as _, Sha256};
use tidegate_core::Timestamp;

use super::TokenFault;
use crate::Identity;
use crate::identity::halves::Halves;

/// The most tokens that hold, remembered at one time.
pub(super) const MAX_TOKENS: usize = 4096;

/// The most bytes that these tokens have together.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The most tokens that do not hold. They have room of their own, so that a flood of them pushes out none that holds.
pub(super) const MAX_FAULTY: usize = 4096;

/// What was found out about earlier tokens, by their SHA-256: the tokens themselves are not kept. Bounded, for one thread.
pub struct TokenCache {
    generation: u64,
    holding: Halves<Digest, Holding>,
    faulty: Halves<Digest, TokenFault>,
}

struct Holding {
    identity: Identity,
    until: Timestamp,
}

/// What is known of a token.
pub(super) enum Seen {
    Holds(Identity),
    Faulty(TokenFault),
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }
}

impl Default for TokenCache {
    fn default() -> Self {
        Self {
            generation: 0,
            holding: Halves::holding(MAX_TOKENS, MAX_BYTES),
            faulty: Halves::holding(MAX_FAULTY, usize::MAX),
        }
    }
}

impl TokenCache {
    /// Forgets everything unless it was found out with the keys of `generation`.
    pub(super) fn follow(&mut self, generation: u64) {
        if self.generation != generation {
            *self = Self {
                generation,
                ..Self::default()
            };
        }
    }

    pub(super) fn seen(&mut self, token: &Digest, now: Timestamp) -> Option<Seen> {
        if let Some(holding) = self.holding.find(token) {
            return Some(if now < holding.until {
                Seen::Holds(holding.identity.clone())
            } else {
                Seen::Faulty(TokenFault::Expired)
            });
        }
        self.faulty.find(token).copied().map(Seen::Faulty)
    }

    /// Remembers a token of `bytes` bytes that holds until `until`.
    pub(super) fn keep(&mut self, token: Digest, bytes: usize, identity: Identity, until: Timestamp) {
        self.holding.add(token, Holding { identity, until }, bytes);
    }

    /// Remembers a token that does not hold, and will not until the keys change.
    pub(super) fn keep_fault(&mut self, token: Digest, fault: TokenFault) {
        if !matches!(fault, TokenFault::NotYet | TokenFault::NoKeys) {
            self.faulty.add(token, fault, 1);
        }
    }

    /// How many tokens are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.holding.len() + self.faulty.len()
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> Digest {
        Digest::of(&number.to_le_bytes())
    }

    fn acme() -> Identity {
        Identity::of_api_key("acme", None)
    }

    #[test]
    fn no_more_tokens_are_remembered_than_stated_and_those_in_use_stay() {
        let mut cache = TokenCache::default();
        let end = Timestamp::from_nanos(10);
        cache.keep(digest(0), 1, acme(), end);
        for number in 1..3 * MAX_TOKENS as u64 {
            cache.keep(digest(number), 1, acme(), end);
            assert!(
                cache.seen(&digest(0), Timestamp::from_nanos(1)).is_some(),
                "{number}"
            );
            assert!(cache.holding.len() <= MAX_TOKENS);
        }
        assert!(cache.seen(&digest(1), Timestamp::from_nanos(1)).is_none());
    }

    #[test]
    fn long_tokens_fill_it_sooner() {
        let mut cache = TokenCache::default();
        let fit = MAX_BYTES / 8192;
        for number in 0..2 * fit as u64 {
            cache.keep(digest(number), 8192, acme(), Timestamp::from_nanos(10));
        }
        assert_eq!(cache.holding.len(), fit);
    }

    #[test]
    fn a_flood_of_bad_tokens_is_bounded_and_pushes_out_none_that_holds() {
        let mut cache = TokenCache::default();
        cache.keep(digest(0), 1, acme(), Timestamp::from_nanos(10));
        for number in 1..3 * MAX_FAULTY as u64 {
            cache.keep_fault(digest(number), TokenFault::Signature);
            assert!(cache.faulty.len() <= MAX_FAULTY);
        }
        assert!(matches!(
            cache.seen(&digest(0), Timestamp::from_nanos(1)),
            Some(Seen::Holds(_))
        ));
    }

    #[test]
    fn a_remembered_token_expires_on_time() {
        let mut cache = TokenCache::default();
        cache.keep(digest(0), 1, acme(), Timestamp::from_nanos(10));
        let seen = |cache: &mut TokenCache, now| cache.seen(&digest(0), Timestamp::from_nanos(now));
        assert!(matches!(seen(&mut cache, 9), Some(Seen::Holds(_))));
        assert!(matches!(
            seen(&mut cache, 10),
            Some(Seen::Faulty(TokenFault::Expired))
        ));
    }

    #[test]
    fn other_keys_begin_anew() {
        let mut cache = TokenCache::default();
        cache.follow(1);
        cache.keep(digest(0), 1, acme(), Timestamp::from_nanos(10));
        cache.keep_fault(digest(1), TokenFault::UnknownKey);
        cache.follow(1);
        assert_eq!(cache.len(), 2);
        cache.follow(2);
        assert_eq!(cache.len(), 0);
    }
}
