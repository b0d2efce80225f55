//! How much memory the table gets for which algorithms.

use tidegate_core::{Algorithm, TableSize};

use crate::{Config, Door, Policy, PolicyLimit};

/// One part in so many of the memory is for algorithms that no policy uses at the start.
const SPARE_PART: usize = 8;

impl Config {
    /// How the memory for counters is divided. It goes to what the policies need: buckets, the other algorithms, or half to each. What they do not
    /// need yet gets a part all the same, since a reload may bring policies that do. Who asks a door for Redis brings buckets.
    pub fn table_size(&self) -> TableSize {
        let bytes = self.store.memory_bytes;
        let is_bucket = |limit: &PolicyLimit| {
            matches!(
                limit.limit.algorithm(),
                Algorithm::TokenBucket | Algorithm::LeakyBucket
            )
        };
        let mut limits = self.policies.policies().iter().flat_map(limits_of);
        let listeners = &self.gateway.listen;
        let are_brought = listeners.iter().any(|listener| listener.door == Door::Redis);
        let bucket_bytes = match (
            are_brought || limits.clone().any(is_bucket),
            limits.all(is_bucket),
        ) {
            (_, true) => bytes - bytes / SPARE_PART,
            (true, false) => bytes / 2,
            (false, false) => bytes / SPARE_PART,
        };
        TableSize {
            bucket_bytes,
            ledger_bytes: bytes - bucket_bytes,
        }
    }
}

/// All limits of a policy, those of its tiers too.
fn limits_of(policy: &Policy) -> impl Iterator<Item = &PolicyLimit> + Clone {
    policy
        .limits
        .iter()
        .chain(policy.tiers.iter().flat_map(|(_, limits)| limits))
        .chain(policy.overrides.iter().flat_map(|special| &special.limits))
}

#[cfg(test)]
mod tests {
    use tidegate_core::{KeyHasher, TableSize};

    use crate::{PolicyFile, compile};

    const FILE: &str =
        "policies:\n  - name: one\n    key: [client.ip]\n    limit: { quota: 1, window: 1s }\n";
    const LOG: &str = "{ algorithm: sliding_window_log, quota: 1, window: 1s }";

    fn size(text: &str) -> TableSize {
        let file = PolicyFile {
            name: "test.yaml",
            text,
        };
        let mut config = compile(file, &KeyHasher::new([0; 16])).unwrap().config;
        config.store.memory_bytes = 16;
        config.table_size()
    }

    #[test]
    fn memory_goes_to_the_algorithms_that_the_policies_use_but_for_an_eighth() {
        let only_others = FILE.replace("{ quota: 1, window: 1s }", LOG);
        let both = format!("{FILE}    tiers: {{ pro: {LOG} }}\n");
        for (text, bucket_bytes, ledger_bytes) in [(FILE, 14, 2), (&only_others, 2, 14), (&both, 8, 8)] {
            let expected = TableSize {
                bucket_bytes,
                ledger_bytes,
            };
            assert_eq!(size(text), expected, "{text}");
        }
    }

    #[test]
    fn callers_of_a_door_for_redis_bring_buckets() {
        let log = FILE.replace("{ quota: 1, window: 1s }", LOG);
        assert_eq!(size(&format!("doors: {{ redis: 6380 }}\n{log}")).bucket_bytes, 8);
    }
}
