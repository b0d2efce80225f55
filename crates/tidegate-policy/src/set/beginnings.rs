//! What the keys of a policy's counters begin with, hashed once.

use tidegate_core::{KeyBuilder, KeyHasher};

use super::key::{Counter, Recipe, Whose};
use crate::{Policy, PolicyLimit};

/// The beginnings of keys.
#[derive(Clone, Debug)]
pub(super) struct Beginnings {
    /// For each limit of the policy itself.
    pub(super) own: Vec<KeyBuilder>,
    /// The same for each tier.
    pub(super) tiers: Vec<Vec<KeyBuilder>>,
    /// The same for each override.
    pub(super) overrides: Vec<Vec<KeyBuilder>>,
}

impl Beginnings {
    pub(super) fn of(policy: &Policy, recipe: &Recipe, hasher: &KeyHasher) -> Self {
        let beginnings = |whose: Whose<'_>, limits: &[PolicyLimit]| -> Vec<KeyBuilder> {
            let beginning = |(limit, limit_index): (&PolicyLimit, u64)| {
                let counter = Counter {
                    policy: &policy.name,
                    limit_index,
                    algorithm: limit.limit.algorithm().name(),
                    whose,
                };
                recipe.beginning(hasher, counter)
            };
            limits.iter().zip(0..).map(beginning).collect()
        };
        Self {
            own: beginnings(Whose::Own, &policy.limits),
            tiers: policy
                .tiers
                .iter()
                .map(|(tier, limits)| beginnings(Whose::Tier(tier), limits))
                .collect(),
            overrides: policy
                .overrides
                .iter()
                .map(|special| beginnings(Whose::Named(&special.whose), &special.limits))
                .collect(),
        }
    }
}
