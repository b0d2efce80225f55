//! A bounded map for what was found out about credentials.

use std::collections::HashMap;
use std::hash::Hash;

/// A bounded map that forgets what was not asked for lately: what is used moves to the young half, and when that is full it
/// becomes the old one, and the old one goes.
pub(super) struct Halves<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// What the young half weighs.
    weight: usize,
    /// The bounds of a half.
    most: usize,
    heaviest: usize,
}

impl<K: Copy + Eq + Hash, V> Halves<K, V> {
    /// Room for `most` values that weigh no more than `heaviest` together.
    pub(super) fn holding(most: usize, heaviest: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            weight: 0,
            most: most / 2,
            heaviest: heaviest / 2,
        }
    }

    /// The value of a key, which is in use from now on.
    pub(super) fn find(&mut self, key: &K) -> Option<&V> {
        if let Some((value, weight)) = self.old.remove(key) {
            self.add(*key, value, weight);
        }
        self.young.get(key).map(|(value, _)| value)
    }

    /// Puts a value in that weighs so much.
    pub(super) fn add(&mut self, key: K, value: V, weight: usize) {
        if self.young.len() >= self.most || self.weight.saturating_add(weight) > self.heaviest {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight = self.weight.saturating_add(weight);
        self.young.insert(key, (value, weight));
    }

    /// Forgets a value.
    pub(super) fn remove(&mut self, key: &K) {
        let weight = self.young.remove(key).map_or(0, |(_, weight)| weight);
        self.weight = self.weight.saturating_sub(weight);
        self.old.remove(key);
    }

    /// How many values there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
