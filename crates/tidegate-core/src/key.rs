//! The name of a counter: a 128-bit hash of length-prefixed parts.

mod shared;

use core::fmt;
use core::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use self::shared::{SharedBuilder, SharedHasher};

/// The name of one counter.
///
/// Made by a [`KeyHasher`], so that no raw credential is ever kept, and nobody can find two clients that share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

/// Where in a key's bits its shard is. The table takes lines from the bits above, and the ledger its shards from those below.
const SHARD_SHIFT: u32 = 72;

impl Key {
    /// A key from its 128 bits. They must be spread evenly and unknown to clients: the table takes its
    /// place in memory straight from them.
    pub const fn from_hash(hash: u128) -> Self {
        Self(hash)
    }

    /// A key from 120 of these bits, in a shard of your choice.
    pub const fn in_shard(hash: u128, shard: u8) -> Self {
        Self(hash & !(0xff << SHARD_SHIFT) | (shard as u128) << SHARD_SHIFT)
    }

    /// The 128 bits.
    pub const fn hash(self) -> u128 {
        self.0
    }

    /// In which of 256 virtual shards of a shared store the counter is kept: one byte of the hash. Counters that one call should
    /// reach together are named so that they agree in it ([`KeyBuilder::subject`]).
    #[allow(clippy::cast_possible_truncation, reason = "that byte of it")]
    pub const fn shard(self) -> u8 {
        (self.0 >> SHARD_SHIFT) as u8
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:032x})", self.0)
    }
}

/// Turns the parts of a key into a [`Key`], in one of two ways.
///
/// | way | names are | for |
/// | --- | --- | --- |
/// | [`KeyHasher::new`] | SipHash-1-3 of 128 bits under a secret, fast | counters of one process |
/// | [`KeyHasher::shared`] | SHA-256 cut to 128 bits | counters that many processes must name alike |
#[derive(Clone)]
pub struct KeyHasher(Way<SipHasher13, SharedHasher>);

/// A key in the making. Clone it to share a common beginning (a policy's name, say) between many keys.
#[derive(Clone)]
pub struct KeyBuilder(Way<SipHasher13, SharedBuilder>);

#[derive(Clone)]
enum Way<Own, Shared> {
    /// For the table of one process.
    Own(Own),
    /// For a store that many processes share.
    Shared(Shared),
}

impl KeyHasher {
    /// A hasher for the counters of one process. Draw `secret` at random at its start: who knows it can aim at places in the table.
    pub fn new(secret: [u8; 16]) -> Self {
        Self(Way::Own(SipHasher13::new_with_key(&secret)))
    }

    /// A hasher for counters in a store that many processes share. All that have the same `secret`, or none, name them alike, and
    /// nobody can make two names collide. With a secret, nobody who reads the store can find out whose counter one is by trying
    /// names; without, who guesses an address can tell its counter.
    pub fn shared(secret: Option<&[u8]>) -> Self {
        Self(Way::Shared(SharedHasher::new(secret.unwrap_or_default())))
    }

    /// Starts a key.
    #[inline]
    pub fn start(&self) -> KeyBuilder {
        KeyBuilder(match &self.0 {
            Way::Own(hasher) => Way::Own(*hasher),
            Way::Shared(hasher) => Way::Shared(hasher.start()),
        })
    }

    /// The key of a single part: the same as `start`, one `part`, `finish`.
    #[inline]
    pub fn key(&self, part: &[u8]) -> Key {
        let mut builder = self.start();
        builder.part(part);
        builder.finish()
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher(secret)")
    }
}

impl KeyBuilder {
    /// Adds a part. Its length goes first, so that `("ab", "c")` and `("a", "bc")` are different keys.
    #[inline(always)]
    pub fn part(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Way::Own(hasher) => add(hasher, bytes),
            Way::Shared(builder) => builder.part(bytes),
        }
    }

    /// Adds `parts`, and in a shared store puts the counter where all counters of this subject are. The last subject counts.
    #[inline(always)]
    pub fn subject(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.part(part));
        if let Way::Shared(builder) = &mut self.0 {
            builder.belongs_to(parts);
        }
    }

    /// The key of the parts so far.
    #[inline]
    pub fn finish(&self) -> Key {
        match &self.0 {
            Way::Own(hasher) => Key(hasher.finish128().as_u128()),
            Way::Shared(builder) => builder.finish(),
        }
    }
}

/// In one byte order on every machine: those that share a store name the same counters.
#[inline]
fn add(hasher: &mut SipHasher13, part: &[u8]) {
    hasher.write_u64((part.len() as u64).to_le());
    hasher.write(part);
}

impl fmt::Debug for KeyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBuilder(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hasher of each way.
    fn hashers() -> [KeyHasher; 3] {
        [
            KeyHasher::new([7; 16]),
            KeyHasher::shared(None),
            KeyHasher::shared(Some(b"secret")),
        ]
    }

    fn key(hasher: &KeyHasher, parts: &[&str]) -> Key {
        let mut builder = hasher.start();
        parts.iter().for_each(|part| builder.part(part.as_bytes()));
        builder.finish()
    }

    /// The key of a policy's counter of a subject.
    fn counter(hasher: &KeyHasher, policy: &str, subject: &[&[u8]]) -> Key {
        let mut builder = hasher.start();
        builder.part(policy.as_bytes());
        builder.subject(subject);
        builder.finish()
    }

    #[test]
    fn parts_that_join_alike_are_different_keys() {
        let keys: [&[&str]; 8] = [
            &[],
            &[""],
            &["", ""],
            &["abc"],
            &["abc", ""],
            &["", "abc"],
            &["ab", "c"],
            &["a", "bc"],
        ];
        for hasher in hashers() {
            for (number, one) in keys.iter().enumerate() {
                for other in &keys[number + 1..] {
                    assert_ne!(key(&hasher, one), key(&hasher, other), "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn a_part_that_holds_the_length_and_text_of_another_is_not_two_parts() {
        for hasher in hashers() {
            let one = key(&hasher, &["a\u{1}\0\0\0\0\0\0\0b"]);
            assert_ne!(one, key(&hasher, &["a", "b"]));
        }
    }

    #[test]
    fn another_secret_makes_other_keys_and_neither_is_shown() {
        let hasher = KeyHasher::new([7; 16]);
        assert_eq!(key(&hasher, &["a"]), hasher.key(b"a"));
        assert_ne!(hasher.key(b"a"), KeyHasher::new([8; 16]).key(b"a"));
        let shared =
            [None, Some(&b"one"[..]), Some(b"two")].map(|secret| KeyHasher::shared(secret).key(b"a"));
        assert!(shared[0] != shared[1] && shared[1] != shared[2] && shared[0] != shared[2]);
        for hasher in hashers() {
            assert_eq!(
                std::format!("{hasher:?} {:?}", hasher.start()),
                "KeyHasher(secret) KeyBuilder(secret)"
            );
        }
    }

    #[test]
    fn shared_names_are_the_same_in_every_version() {
        // From another implementation, in Python: the names of counters that are in stores today.
        let name = |secret| counter(&KeyHasher::shared(secret), "a", &[b"bc"]).hash();
        assert_eq!(name(None), 0xc24c_c14a_5e16_d128_230c_2d1c_367e_d54a);
        assert_eq!(
            name(Some(b"sixteen secret b")),
            0xbd20_b465_c802_d63e_ae3c_fbc8_f55b_839d
        );
        let without_subject = key(&KeyHasher::shared(None), &["a", "bc"]).hash();
        assert_eq!(without_subject, 0xc24c_c14a_5e16_5c28_230c_2d1c_367e_d54a);
    }

    #[test]
    fn counters_of_one_subject_share_a_shard_and_subjects_are_spread_over_all() {
        for hasher in &hashers()[1..] {
            let mut subjects = [0; 256];
            for number in 0_u32..256 * 64 {
                let subject: &[&[u8]] = &[&[1], &number.to_le_bytes()];
                let [one, other] = ["login", "api"].map(|policy| counter(hasher, policy, subject));
                assert_eq!(one.shard(), other.shard());
                assert_ne!(one, other);
                subjects[usize::from(one.shard())] += 1;
            }
            // 64 each on average, with a deviation of 8.
            assert!(
                subjects.iter().all(|count| (24..112).contains(count)),
                "{subjects:?}"
            );
        }
    }

    #[test]
    fn the_last_subject_takes_the_counter_to_its_shard() {
        let hasher = KeyHasher::shared(None);
        let mut builder = hasher.start();
        builder.subject(&[b"policy"]);
        let of_policy = builder.finish();
        builder.subject(&[b"client"]);
        let of_client = builder.finish();
        assert_eq!(of_policy.shard(), counter(&hasher, "", &[b"policy"]).shard());
        assert_eq!(of_client.shard(), counter(&hasher, "", &[b"client"]).shard());
        assert_ne!(of_client.shard(), of_policy.shard());
    }

    #[test]
    fn a_secret_hides_which_subjects_share_a_shard() {
        let [_, open, secret] = hashers();
        let shards = |hasher| (0_u8..64).map(move |number| counter(hasher, "", &[&[number]]).shard());
        let same = shards(&open)
            .zip(shards(&secret))
            .filter(|(one, other)| one == other);
        assert!(same.count() < 8);
    }

    #[test]
    fn the_subject_is_nothing_but_parts_to_the_counters_of_one_process() {
        let hasher = KeyHasher::new([7; 16]);
        assert_eq!(
            counter(&hasher, "a", &[b"b", b"c"]),
            key(&hasher, &["a", "b", "c"])
        );
    }

    #[test]
    fn a_shard_takes_the_place_of_one_byte_and_leaves_the_others() {
        assert_eq!(Key::in_shard(u128::MAX, 0).hash(), !(0xff << 72));
        assert_eq!(Key::in_shard(0, 0xa5).hash(), 0xa5 << 72);
        for shard in [0, 1, 0x7f, 0xff] {
            assert_eq!(Key::in_shard(0x1234_5678 << 70, shard).shard(), shard);
        }
        assert_eq!(size_of::<Key>(), size_of::<u128>());
    }
}
