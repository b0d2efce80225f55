//! Counters whose names and limits callers bring, beside those of policies.

use tidegate_core::{Key, KeyBuilder, KeyHasher};

use crate::Consistency;

/// Names counters for callers who bring names and limits of their own.
#[derive(Clone, Debug)]
pub struct NamedCounters {
    own: KeyBuilder,
    shared: KeyBuilder,
}

/// The first part of these names. Policies have no such name, so no counter of theirs is reached.
const KIND: &[u8] = b"named by callers";

impl NamedCounters {
    /// Counters of this process are named under the secret of `hasher`, shared ones without any.
    pub(crate) fn new(hasher: &KeyHasher) -> Self {
        Self {
            own: beginning(hasher),
            shared: beginning(&KeyHasher::shared(None)),
        }
    }

    /// The counter that a caller calls `name`, where `consistency` says.
    #[inline]
    pub fn key(&self, consistency: Consistency, name: &[u8]) -> Key {
        let mut key = match consistency {
            Consistency::Local => self.own.clone(),
            Consistency::Strict => self.shared.clone(),
        };
        key.subject(&[name]);
        key.finish()
    }

    /// Shared counters are named by `hasher` from now on.
    pub(super) fn share(&mut self, hasher: &KeyHasher) {
        self.shared = beginning(hasher);
    }
}

fn beginning(hasher: &KeyHasher) -> KeyBuilder {
    let mut key = hasher.start();
    key.part(KIND);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(secret: u8) -> NamedCounters {
        NamedCounters::new(&KeyHasher::new([secret; 16]))
    }

    #[test]
    fn processes_name_shared_counters_alike_and_their_own_each_for_itself() {
        let key = |secret, consistency| named(secret).key(consistency, b"user123");
        assert_eq!(key(1, Consistency::Strict), key(2, Consistency::Strict));
        assert_ne!(key(1, Consistency::Local), key(2, Consistency::Local));
        let under_a_secret = |secret: &[u8]| {
            let mut named = named(1);
            named.share(&KeyHasher::shared(Some(secret)));
            named.key(Consistency::Strict, b"user123")
        };
        assert_ne!(under_a_secret(b"one"), key(1, Consistency::Strict));
        assert_eq!(under_a_secret(b"one"), under_a_secret(b"one"));
    }

    #[test]
    fn shared_counters_are_spread_over_shards() {
        let shards: std::collections::BTreeSet<u8> = (0_u8..64)
            .map(|number| named(1).key(Consistency::Strict, &[number]).shard())
            .collect();
        assert!(shards.len() > 32, "{}", shards.len());
    }
}
