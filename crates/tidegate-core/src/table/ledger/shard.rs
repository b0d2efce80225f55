//! One shard of the ledger: entries found by key, and put out in order when it is full.

use alloc::vec::Vec;

use super::order::Order;
use crate::Key;
use crate::algorithm::state::State;

/// No entry.
const NONE: u32 = u32::MAX;

/// A bounded map from keys to states. What its entries take is reserved at once and never grows; what they hold on the heap
/// is counted.
#[derive(Debug)]
pub(in crate::table) struct Shard {
    entries: Vec<Entry>,
    /// The first entry of each chain.
    heads: Vec<u32>,
    /// The first of the entries that are not in use, chained.
    spare: u32,
    order: Order,
    heap_bytes: usize,
    heap_budget: usize,
    live: usize,
    evictions: u64,
}

#[derive(Debug)]
struct Entry {
    key: [u64; 2],
    state: Option<State>,
    /// The next in the same chain, or the next spare one.
    next: u32,
}

impl Shard {
    /// Bytes reserved for each entry.
    pub(super) const ENTRY_BYTES: usize = size_of::<Entry>() + size_of::<u32>() + Order::BYTES_PER_ID;

    /// Room for `capacity` entries that hold `heap_budget` bytes on the heap.
    pub(super) fn new(capacity: u32, heap_budget: usize) -> Self {
        let capacity = capacity as usize;
        let mut heads = Vec::with_capacity(capacity);
        heads.resize(capacity, NONE);
        Self {
            entries: Vec::with_capacity(capacity),
            heads,
            spare: NONE,
            order: Order::new(capacity),
            heap_bytes: 0,
            heap_budget,
            live: 0,
            evictions: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.heads.len() * Self::ENTRY_BYTES + self.heap_bytes
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions
    }

    /// What is kept under `key`.
    pub(in crate::table) fn state(&self, key: Key) -> Option<&State> {
        self.entries.get(self.find(key) as usize)?.state.as_ref()
    }

    /// The pressure of what is kept under `key`.
    pub(super) fn pressure(&self, key: Key) -> Option<u8> {
        let id = self.find(key);
        (id != NONE).then(|| self.order.pressure(id))
    }

    /// Takes out what is kept under `key`.
    pub(super) fn take(&mut self, key: Key) -> Option<State> {
        let id = self.find(key);
        if id == NONE { None } else { self.remove(id) }
    }

    /// Keeps `state` under `key`, where nothing is kept. Entries that are fresh at `now` make room; if there are none, those that
    /// are missed least, and that is counted.
    pub(super) fn put(&mut self, key: Key, state: State, pressure: u8, now: u64) {
        let fresh_at = state.fresh_at();
        if fresh_at <= now {
            return;
        }
        self.heap_bytes += state.heap_bytes();
        self.make_room(now);
        let id = self.spare_entry();
        let key = words(key);
        let head = self.head_of(key);
        self.entries[id as usize] = Entry {
            key,
            state: Some(state),
            next: self.heads[head],
        };
        self.heads[head] = id;
        self.order.add(id, pressure, fresh_at);
        self.live += 1;
    }

    /// Until one more entry fits, with what it holds (already counted). Frees two fresh entries where it finds them, so
    /// that they go faster than new ones come, and as many as are needed before it puts out one that is not.
    fn make_room(&mut self, now: u64) {
        for _ in 0..2 {
            self.remove_fresh(now);
        }
        while self.live >= self.heads.len() || self.heap_bytes > self.heap_budget {
            if self.remove_fresh(now) {
                continue;
            }
            // None is left only when the newcomer alone is over the budget. It stays; the largest there can be
            // fits into the smallest budget that `Ledger::new` gives.
            let Some(least) = self.order.least() else { break };
            self.remove(least);
            self.evictions += 1;
        }
    }

    /// Whether there was one.
    fn remove_fresh(&mut self, now: u64) -> bool {
        let fresh = self.order.fresh(now);
        fresh.is_some_and(|id| self.remove(id).is_some())
    }

    /// An entry that is in no chain.
    fn spare_entry(&mut self) -> u32 {
        if let Some(spare) = self.entries.get(self.spare as usize) {
            return core::mem::replace(&mut self.spare, spare.next);
        }
        let id = u32::try_from(self.entries.len()).unwrap_or(NONE);
        self.entries.push(Entry {
            key: [0; 2],
            state: None,
            next: NONE,
        });
        id
    }

    /// Takes the entry out of its chain and makes it a spare one.
    fn remove(&mut self, id: u32) -> Option<State> {
        self.order.remove(id);
        self.unlink(id);
        let entry = self.entries.get_mut(id as usize)?;
        entry.next = core::mem::replace(&mut self.spare, id);
        let state = entry.state.take()?;
        self.live -= 1;
        self.heap_bytes -= state.heap_bytes();
        Some(state)
    }

    fn unlink(&mut self, id: u32) {
        let Entry { key, next, .. } = self.entries[id as usize];
        let head = self.head_of(key);
        let mut before = self.heads[head];
        if before == id {
            self.heads[head] = next;
            return;
        }
        while self.entries[before as usize].next != id {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = next;
    }

    fn find(&self, key: Key) -> u32 {
        let key = words(key);
        let mut id = self.heads[self.head_of(key)];
        while let Some(entry) = self.entries.get(id as usize) {
            if entry.key == key {
                return id;
            }
            id = entry.next;
        }
        NONE
    }

    /// The chain of a key, by the low half of its hash; the high half chose the shard.
    #[allow(clippy::cast_possible_truncation, reason = "below the number of chains")]
    fn head_of(&self, [low, _]: [u64; 2]) -> usize {
        ((u128::from(low) * self.heads.len() as u128) >> 64) as usize
    }
}

#[allow(clippy::cast_possible_truncation, reason = "each half of it")]
fn words(key: Key) -> [u64; 2] {
    let hash = key.hash();
    [hash as u64, (hash >> 64) as u64]
}
