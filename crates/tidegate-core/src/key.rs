//! The name of a counter: a keyed 128-bit hash of length-prefixed parts.

use core::fmt;
use core::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// The name of one counter.
///
/// Made by a [`KeyHasher`], so that nobody who lacks its secret can find two clients that share one, and no
/// raw credential is ever kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

impl Key {
    /// A key from its 128 bits. They must be spread evenly and unknown to clients: the table takes its
    /// place in memory straight from them.
    pub const fn from_hash(hash: u128) -> Self {
        Self(hash)
    }

    /// The 128 bits.
    pub const fn hash(self) -> u128 {
        self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:032x})", self.0)
    }
}

/// Turns the parts of a key into a [`Key`] under a secret (SipHash-1-3 with 128 bits of output).
#[derive(Clone)]
pub struct KeyHasher(SipHasher13);

impl KeyHasher {
    /// A hasher under `secret`. One process, or all that share a store, use the same.
    pub fn new(secret: [u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(&secret))
    }

    /// Starts a key.
    pub fn start(&self) -> KeyBuilder {
        KeyBuilder(self.0)
    }

    /// The key of a single part: the same as `start`, one `part`, `finish`.
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

/// A key in the making. Copy it to share a common beginning (a policy's name, say) between many keys.
#[derive(Clone, Copy)]
pub struct KeyBuilder(SipHasher13);

impl KeyBuilder {
    /// Adds a part. Its length goes first, so that `("ab", "c")` and `("a", "bc")` are different keys.
    pub fn part(&mut self, bytes: &[u8]) {
        // In one byte order on every machine: those that share a store name the same counters.
        self.0.write_u64((bytes.len() as u64).to_le());
        self.0.write(bytes);
    }

    /// The key of the parts so far.
    pub fn finish(&self) -> Key {
        Key(self.0.finish128().as_u128())
    }
}

impl fmt::Debug for KeyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBuilder(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8, parts: &[&str]) -> Key {
        let mut builder = KeyHasher::new([secret; 16]).start();
        parts.iter().for_each(|part| builder.part(part.as_bytes()));
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
        for (number, one) in keys.iter().enumerate() {
            for other in &keys[number + 1..] {
                assert_ne!(key(7, one), key(7, other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_part_that_holds_the_length_and_text_of_another_is_not_two_parts() {
        assert_ne!(key(7, &["a\u{1}\0\0\0\0\0\0\0b"]), key(7, &["a", "b"]));
    }

    #[test]
    fn another_secret_makes_other_keys_and_neither_is_shown() {
        assert_eq!(key(7, &["a"]), KeyHasher::new([7; 16]).key(b"a"));
        assert_ne!(key(7, &["a"]), key(8, &["a"]));
        let hasher = KeyHasher::new([7; 16]);
        assert_eq!(
            std::format!("{hasher:?} {:?}", hasher.start()),
            "KeyHasher(secret) KeyBuilder(secret)"
        );
    }
}
