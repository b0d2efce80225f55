//! Who goes first when a shard is full: entries in order of pressure, then of the moment at which they are fresh.

use alloc::vec::Vec;

/// Grades of how much of its limit an entry has spent, in quarters.
pub(super) const PRESSURES: usize = 4;

/// One binary heap per pressure over the ids `0..capacity`, the nearest to fresh on top. All memory is reserved at once.
#[derive(Debug)]
pub(super) struct Order {
    heaps: [Vec<u32>; PRESSURES],
    ranks: Vec<Rank>,
}

/// Where an id stands, and why.
#[derive(Clone, Copy, Debug)]
struct Rank {
    fresh_at: u64,
    position: u32,
    pressure: u8,
}

impl Order {
    /// Bytes reserved for each id.
    pub(super) const BYTES_PER_ID: usize = PRESSURES * size_of::<u32>() + size_of::<Rank>();

    pub(super) fn new(capacity: usize) -> Self {
        Self {
            heaps: core::array::from_fn(|_| Vec::with_capacity(capacity)),
            ranks: Vec::with_capacity(capacity),
        }
    }

    /// Adds `id`, which is not in it. Ids are dense: a new one is one above the highest so far.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "positions are below the capacity, which ids of u32 number"
    )]
    pub(super) fn add(&mut self, id: u32, pressure: u8, fresh_at: u64) {
        let pressure = pressure % PRESSURES as u8;
        let heap = &mut self.heaps[pressure as usize];
        let position = heap.len();
        heap.push(id);
        let rank = Rank {
            fresh_at,
            position: position as u32,
            pressure,
        };
        match self.ranks.get_mut(id as usize) {
            Some(known) => *known = rank,
            None => self.ranks.push(rank),
        }
        self.rise(pressure, position);
    }

    /// Takes `id` out, which is in it.
    pub(super) fn remove(&mut self, id: u32) {
        let Rank {
            pressure, position, ..
        } = self.ranks[id as usize];
        let position = position as usize;
        let heap = &mut self.heaps[pressure as usize];
        heap.swap_remove(position);
        if position < heap.len() {
            self.note_position(pressure, position);
            self.rise(pressure, position);
            self.sink(pressure, position);
        }
    }

    /// The pressure that `id` was added with.
    pub(super) fn pressure(&self, id: u32) -> u8 {
        self.ranks[id as usize].pressure
    }

    /// An entry that is fresh at `now`.
    pub(super) fn fresh(&self, now: u64) -> Option<u32> {
        self.tops().find(|&id| self.fresh_at(id) <= now)
    }

    /// The entry that is missed least: of the lowest pressure, the one nearest to fresh.
    pub(super) fn least(&self) -> Option<u32> {
        self.tops().next()
    }

    fn tops(&self) -> impl Iterator<Item = u32> {
        self.heaps.iter().filter_map(|heap| heap.first().copied())
    }

    fn fresh_at(&self, id: u32) -> u64 {
        self.ranks[id as usize].fresh_at
    }

    fn rise(&mut self, pressure: u8, mut position: usize) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !self.swap_if_before(pressure, position, parent) {
                break;
            }
            position = parent;
        }
        self.note_position(pressure, position);
    }

    fn sink(&mut self, pressure: u8, mut position: usize) {
        loop {
            let heap = &self.heaps[pressure as usize];
            let children = [2 * position + 1, 2 * position + 2];
            let nearest = children
                .into_iter()
                .filter(|&child| child < heap.len())
                .min_by_key(|&child| self.fresh_at(heap[child]));
            match nearest {
                Some(child) if self.swap_if_before(pressure, child, position) => position = child,
                _ => break,
            }
        }
        self.note_position(pressure, position);
    }

    /// Swaps if what is at `lower` is nearer to fresh than what is at `upper`.
    fn swap_if_before(&mut self, pressure: u8, lower: usize, upper: usize) -> bool {
        let heap = &self.heaps[pressure as usize];
        let before = self.fresh_at(heap[lower]) < self.fresh_at(heap[upper]);
        if before {
            self.heaps[pressure as usize].swap(lower, upper);
            self.note_position(pressure, lower);
            self.note_position(pressure, upper);
        }
        before
    }

    #[allow(clippy::cast_possible_truncation, reason = "as in `add`")]
    fn note_position(&mut self, pressure: u8, position: usize) {
        let id = self.heaps[pressure as usize][position];
        self.ranks[id as usize].position = position as u32;
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sorted_map(steps in prop::collection::vec((0u8..4, 0u64..50, any::<bool>(), any::<prop::sample::Index>()), 1..300)) {
            let (mut order, mut model, mut free) = (Order::new(300), BTreeMap::new(), Vec::new());
            for (pressure, fresh_at, remove, which) in steps {
                if remove && !model.is_empty() {
                    let id = *which.get(&model.keys().copied().collect::<Vec<u32>>());
                    order.remove(id);
                    model.remove(&id);
                    free.push(id);
                } else {
                    let id = free.pop().unwrap_or_else(|| u32::try_from(model.len()).unwrap());
                    order.add(id, pressure, fresh_at);
                    model.insert(id, (pressure, fresh_at));
                }
                let least = model.values().min().copied();
                prop_assert_eq!(order.least().map(|id| model[&id]), least);
                let fresh = model.values().any(|&(_, fresh_at)| fresh_at <= 10);
                prop_assert_eq!(order.fresh(10).is_some(), fresh);
                prop_assert!(order.fresh(10).is_none_or(|id| model[&id].1 <= 10));
            }
        }
    }
}
