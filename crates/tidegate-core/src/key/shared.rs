//! Names that many processes agree on.
//!
//! A name is the first 16 bytes of SHA-256 over length-prefixed parts, with one byte replaced by the subject's shard. The remaining 120
//! bits leave no hope of finding a name that collides with a given one.

use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::{Key, add};

/// Goes first into names, so that they differ from whatever else is hashed under the same secret. Changes with the way they are made.
const NAME: &[u8] = b"tidegate counter 1";
/// The same for shards.
const SHARD: &[u8] = b"tidegate shard 1";

#[derive(Clone)]
pub(super) struct SharedHasher(SharedBuilder);

#[derive(Clone)]
pub(super) struct SharedBuilder {
    name: Sha256,
    /// Hashes subjects to shards, under a secret of its own if there is one: else clients could pick subjects of one shard.
    shards: SipHasher13,
    shard: Option<u8>,
}

impl SharedHasher {
    pub(super) fn new(secret: &[u8]) -> Self {
        let mut name = Sha256::new();
        absorb(&mut name, NAME);
        absorb(&mut name, secret);
        let mut shards = Sha256::new();
        absorb(&mut shards, SHARD);
        absorb(&mut shards, secret);
        Self(SharedBuilder {
            name,
            shards: SipHasher13::new_with_key(&first_half(shards)),
            shard: None,
        })
    }

    #[inline(never)]
    pub(super) fn start(&self) -> SharedBuilder {
        self.0.clone()
    }
}

impl SharedBuilder {
    #[inline(never)]
    pub(super) fn part(&mut self, bytes: &[u8]) {
        absorb(&mut self.name, bytes);
    }

    #[inline(never)]
    pub(super) fn belongs_to(&mut self, subject: &[&[u8]]) {
        let mut shards = self.shards;
        subject.iter().for_each(|part| add(&mut shards, part));
        let [shard, ..] = shards.finish128().as_bytes();
        self.shard = Some(shard);
    }

    #[inline(never)]
    pub(super) fn finish(&self) -> Key {
        let hash = u128::from_be_bytes(first_half(self.name.clone()));
        match self.shard {
            Some(shard) => Key::in_shard(hash, shard),
            None => Key::from_hash(hash),
        }
    }
}

fn absorb(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

fn first_half(hash: Sha256) -> [u8; 16] {
    let digest = hash.finalize();
    core::array::from_fn(|index| digest[index])
}
