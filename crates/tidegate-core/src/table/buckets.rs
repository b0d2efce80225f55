//! Token and leaky buckets in a fixed number of cache lines.
//!
//! A key has two lines: its home, and another of the same page (64 lines, 4 KiB), so that looking there costs no second
//! address translation. The way between the two is taken from the tag, so it can be walked from either end without the
//! key, and an entry can move to its other line. A key is in at most one slot of its two lines.
//!
//! A new key takes, in this order: a free slot at home; one in its other line; the slot of an entry that moves to a free slot of
//! its own other line; and when none of the ten lines that this looks at has room (one that another thread holds has none), the
//! place of the entry with the lowest pressure, and among those of the one nearest to fresh. That eviction is counted. So no
//! bucket is forgotten while a slot that is as good as unused exists in the two lines of the newcomer.
//!
//! Filled at random to two thirds (24 bytes per key, the working load), about 0.005 % of the keys put one out that was not fresh;
//! with two neighbouring lines and no moves it would be 3.3 %.

use alloc::vec::Vec;

use super::line::{Entry, Line, Locked, SLOTS, Tag};
use crate::algorithm::bucket::Bucket;
use crate::sync::{AtomicU64, Ordering};
use crate::{Decision, Key};

/// Lines among which a key's two are. A power of two.
#[cfg(not(loom))]
const PAGE: usize = 64;
/// Under loom four, so that a test can fill the two of a key, and move one of their buckets to a third.
#[cfg(loom)]
const PAGE: usize = 4;

/// What the smallest table takes: one page.
const LINE_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct Buckets {
    lines: Vec<Line>,
    evictions: AtomicU64,
}

/// Where a key may be, and what it is known by there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) tag: Tag,
    pub(super) home: usize,
    pub(super) away: usize,
}

/// Both lines of a key, held.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) place: Place,
    pub(super) home: &'a Locked<'a>,
    pub(super) away: &'a Locked<'a>,
}

/// What is asked of a bucket.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) bucket: &'a Bucket,
    pub(super) cost: u64,
    pub(super) now: u64,
}

impl Buckets {
    /// As many whole pages of lines as fit into `bytes`, at least one. `before_use` gets the address and length of the memory before
    /// it is first touched.
    pub(super) fn new(bytes: usize, before_use: impl FnOnce(*const u8, usize)) -> Self {
        let count = (bytes / LINE_BYTES / PAGE).max(1) * PAGE;
        let mut lines: Vec<Line> = Vec::with_capacity(count);
        before_use(lines.as_ptr().cast(), lines.capacity() * size_of::<Line>());
        lines.extend(core::iter::repeat_with(Line::new).take(count));
        Self {
            lines,
            evictions: AtomicU64::new(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    /// Buckets forgotten before they were full again.
    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// Buckets that are not full. Looks at every line, without locks: a metric, not a truth.
    pub(super) fn live(&self, now: u64) -> usize {
        self.lines.iter().map(|line| line.seem_taken(now)).sum()
    }

    /// Home by the upper half of the hash (multiply-shift takes any number of lines), tag by the lower.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "each half of the hash; a line number below the count"
    )]
    pub(super) fn place(&self, key: Key) -> Place {
        let hash = key.hash();
        let home = ((u128::from((hash >> 64) as u64) * self.lines.len() as u128) >> 64) as usize;
        let tag = Tag::new(hash as u64);
        Place {
            tag,
            home,
            away: other_line(home, tag),
        }
    }

    /// Decides on one charge and writes what it leaves.
    ///
    /// The usual case is inlined whole and leaves by its own exits, so that its answer is never copied through memory: that alone
    /// was half of its time.
    #[inline(always)]
    pub(super) fn charge(&self, key: Key, ask: Ask<'_>) -> Decision {
        let place = self.place(key);
        let home = self.line(place.home).lock();
        let Some(slot) = home.find(place.tag) else {
            return self.charge_away(place, home, ask);
        };
        let Some(step) = ask.bucket.decide_if_simple(home.tat(slot), ask.cost, ask.now) else {
            return charge_at_length(home, slot, place.tag, ask);
        };
        if let Some(tat) = step.next_tat {
            home.write(slot, ask.entry(place.tag, tat));
        }
        drop(home);
        step.decision
    }

    /// Gives back the cost of an earlier charge, which left the bucket full at `tat`. A bucket that is forgotten gets nothing.
    pub(super) fn give_back(&self, key: Key, ask: Ask<'_>, granted_at: u64) {
        self.change(key, ask, |tat| {
            ask.bucket.give_back(tat, ask.cost, granted_at, ask.now)
        });
    }

    /// Gives back a cost, whenever it was spent. A bucket that is forgotten gets nothing.
    pub(super) fn refund(&self, key: Key, ask: Ask<'_>) {
        self.change(key, ask, |tat| ask.bucket.refund(tat, ask.cost));
    }

    /// Changes the moment at which a bucket is full, if it is there.
    fn change(&self, key: Key, ask: Ask<'_>, change: impl FnOnce(u64) -> u64) {
        let place = self.place(key);
        let home = self.line(place.home).lock();
        if let Some(slot) = home.find(place.tag) {
            return change_in(&home, slot, place.tag, ask, change);
        }
        let (home, away) = self.lock_away(place, home);
        for line in [&away, &home] {
            if let Some(slot) = line.find(place.tag) {
                return change_in(line, slot, place.tag, ask, change);
            }
        }
    }

    /// The way of a key that is not at home.
    #[inline(never)]
    fn charge_away<'a>(&'a self, place: Place, home: Locked<'a>, ask: Ask<'_>) -> Decision {
        let (home, away) = self.lock_away(place, home);
        if let Some(slot) = away.find(place.tag) {
            return charge_at_length(away, slot, place.tag, ask);
        }
        // It may have moved home while its lines were locked in order.
        if let Some(slot) = home.find(place.tag) {
            return charge_at_length(home, slot, place.tag, ask);
        }
        let step = ask.bucket.decide(0, ask.cost, ask.now);
        if let Some(tat) = step.next_tat {
            let pair = Pair {
                place,
                home: &home,
                away: &away,
            };
            self.put(pair, ask.entry(place.tag, tat), ask.now);
        }
        step.decision
    }

    /// Locks the other line too. Lines are waited for in rising order only, or two threads could wait for each other.
    fn lock_away<'a>(&'a self, place: Place, home: Locked<'a>) -> (Locked<'a>, Locked<'a>) {
        if place.away > place.home {
            return (home, self.line(place.away).lock());
        }
        if let Some(away) = self.line(place.away).try_lock() {
            return (home, away);
        }
        drop(home);
        let away = self.line(place.away).lock();
        (self.line(place.home).lock(), away)
    }

    #[inline]
    pub(super) fn line(&self, index: usize) -> &Line {
        &self.lines[index]
    }

    /// Writes an entry whose key is in neither of its lines.
    pub(super) fn put(&self, pair: Pair<'_>, entry: Entry, now: u64) {
        for line in [pair.home, pair.away] {
            if let Some(slot) = line.free(now) {
                return line.write(slot, entry);
            }
        }
        let (line, slot) = self.displace(pair, now).unwrap_or_else(|| self.evict(pair));
        line.write(slot, entry);
    }

    /// Frees a slot by moving its entry to that entry's other line.
    fn displace<'a>(&self, pair: Pair<'a>, now: u64) -> Option<(&'a Locked<'a>, usize)> {
        for (index, line) in [(pair.place.home, pair.home), (pair.place.away, pair.away)] {
            for slot in 0..SLOTS {
                let entry = line.entry(slot);
                let other = self.line(other_line(index, entry.tag));
                // Never waits: lines that others hold, and our own, are passed over.
                if other.seems_free(now)
                    && let Some(other) = other.try_lock()
                    && let Some(free) = other.free(now)
                {
                    other.write(free, entry);
                    return Some((line, slot));
                }
            }
        }
        None
    }

    /// Picks the entry that is missed least.
    fn evict<'a>(&self, pair: Pair<'a>) -> (&'a Locked<'a>, usize) {
        self.evictions.fetch_add(1, Ordering::Relaxed);
        let mut least = (pair.home, 0);
        for line in [pair.home, pair.away] {
            for slot in 0..SLOTS {
                if line.entry(slot).worth() < least.0.entry(least.1).worth() {
                    least = (line, slot);
                }
            }
        }
        least
    }
}

impl Ask<'_> {
    #[inline]
    pub(super) fn entry(&self, tag: Tag, tat: u64) -> Entry {
        Entry {
            tag,
            pressure: self.bucket.pressure(tat, self.now),
            tat,
        }
    }
}

#[inline(never)]
fn charge_at_length(line: Locked<'_>, slot: usize, tag: Tag, ask: Ask<'_>) -> Decision {
    let step = ask.bucket.decide(line.tat(slot), ask.cost, ask.now);
    if let Some(tat) = step.next_tat {
        line.write(slot, ask.entry(tag, tat));
    }
    step.decision
}

fn change_in(line: &Locked<'_>, slot: usize, tag: Tag, ask: Ask<'_>, change: impl FnOnce(u64) -> u64) {
    let left = change(line.tat(slot));
    line.write(slot, ask.entry(tag, left));
}

/// The other line of an entry with `tag` that is in `line`: in the same page, never the same line, and back again.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "below PAGE")]
fn other_line(line: usize, tag: Tag) -> usize {
    const STEP_BITS: u32 = PAGE.trailing_zeros();
    line ^ ((tag.bits() >> (u64::BITS - STEP_BITS)) as usize).max(1)
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
