//! One cache line of the table: four buckets and a lock.
//!
//! | words | hold |
//! | --- | --- |
//! | 0 to 3 | tags: 61 bits of the key's hash, 2 bits of pressure, 1 bit that is the lock in word 0 and unused elsewhere |
//! | 4 to 7 | the tat of each bucket; one that is not later than now is a full bucket, so its slot is free |

use crate::sync::{AtomicU64, Ordering, Wait, store_as_owner};

/// Buckets in a line.
pub(super) const SLOTS: usize = 4;

const LOCK: u64 = 1;
const PRESSURE_SHIFT: u32 = 1;
const IDENTITY: u64 = !0b111;

/// What a line knows a key by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    /// The upper 61 bits of `hash`.
    pub(super) const fn new(hash: u64) -> Self {
        Self(hash & IDENTITY)
    }

    /// Its bits; the lowest three are 0.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) tag: Tag,
    /// How much was spent of the limit, as of the last write: 0 to 3.
    pub(super) pressure: u64,
    pub(super) tat: u64,
}

impl Entry {
    /// What is evicted first: low pressure, then near to fresh.
    pub(super) const fn worth(&self) -> (u64, u64) {
        (self.pressure, self.tat)
    }
}

#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Line {
    tags: [AtomicU64; SLOTS],
    tats: [AtomicU64; SLOTS],
}

impl Line {
    pub(super) fn new() -> Self {
        Self {
            tags: core::array::from_fn(|_| AtomicU64::new(0)),
            tats: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Waits until the line is nobody else's.
    #[inline]
    pub(super) fn lock(&self) -> Locked<'_> {
        match self.try_lock() {
            Some(locked) => locked,
            None => self.wait_for_lock(),
        }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> Option<Locked<'_>> {
        // Acquire pairs with the Release in `Locked::drop`: what the last holder wrote is seen. One read-modify-write and no
        // load before it, so that a line that is not in the cache is fetched once.
        let held = self.tags[0].fetch_or(LOCK, Ordering::Acquire) & LOCK != 0;
        // Not `then_some`: the guard must not exist, and so not be dropped, unless the lock is ours.
        (!held).then(|| Locked(self))
    }

    /// Whether a slot looked free at `now`, without taking the lock: a hint.
    pub(super) fn seems_free(&self, now: u64) -> bool {
        self.tats.iter().any(|tat| tat.load(Ordering::Relaxed) <= now)
    }

    /// How many slots looked taken at `now`.
    pub(super) fn seem_taken(&self, now: u64) -> usize {
        self.tats
            .iter()
            .filter(|tat| tat.load(Ordering::Relaxed) > now)
            .count()
    }

    #[cold]
    fn wait_for_lock(&self) -> Locked<'_> {
        let mut wait = Wait::new();
        loop {
            // Relaxed: only a hint that taking the lock may work now.
            if self.tags[0].load(Ordering::Relaxed) & LOCK == 0
                && let Some(locked) = self.try_lock()
            {
                return locked;
            }
            wait.a_little();
        }
    }
}

/// A line that is ours until dropped. Words are read and written Relaxed: the lock orders them.
#[derive(Debug)]
pub(super) struct Locked<'a>(&'a Line);

impl Locked<'_> {
    #[inline]
    pub(super) fn find(&self, tag: Tag) -> Option<usize> {
        // All are looked at, so that only found or not found is a branch.
        let mut found = 0u32;
        for slot in 0..SLOTS {
            found |= u32::from(self.word(slot) & IDENTITY == tag.0) << slot;
        }
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    /// The slot whose bucket has been full for the longest time: a key that comes back soon finds its slot still there.
    #[inline]
    pub(super) fn free(&self, now: u64) -> Option<usize> {
        let oldest = (0..SLOTS).min_by_key(|&slot| self.tat(slot))?;
        (self.tat(oldest) <= now).then_some(oldest)
    }

    #[inline]
    pub(super) fn tat(&self, slot: usize) -> u64 {
        self.0.tats[slot % SLOTS].load(Ordering::Relaxed)
    }

    pub(super) fn entry(&self, slot: usize) -> Entry {
        let word = self.word(slot);
        Entry {
            tag: Tag::new(word),
            pressure: (word & !IDENTITY) >> PRESSURE_SHIFT,
            tat: self.tat(slot),
        }
    }

    #[inline]
    pub(super) fn write(&self, slot: usize, entry: Entry) {
        let slot = slot % SLOTS;
        let lock = if slot == 0 { LOCK } else { 0 };
        let word = entry.tag.0 | (entry.pressure << PRESSURE_SHIFT) | lock;
        store_as_owner(&self.0.tags[slot], word, Ordering::Relaxed);
        self.0.tats[slot].store(entry.tat, Ordering::Relaxed);
    }

    #[inline]
    fn word(&self, slot: usize) -> u64 {
        self.0.tags[slot % SLOTS].load(Ordering::Relaxed)
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let word = &self.0.tags[0];
        // Only the holder changes this word; others can at most set the lock bit again, which this clears.
        // Release pairs with the Acquire in `Line::try_lock`.
        store_as_owner(word, word.load(Ordering::Relaxed) & !LOCK, Ordering::Release);
    }
}
