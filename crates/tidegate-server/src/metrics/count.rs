//! Numbers with one writer and many readers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that one thread changes and others read. Changing it is a load and a store on memory that no other thread writes.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Counts one more. Only the thread that owns the count calls it.
    #[inline]
    pub(crate) fn one(&self) {
        self.add(1);
    }

    /// Adds `number`. Only the thread that owns the count calls it.
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        // With one writer, a load and a store lose nothing. Readers want the number alone: it orders no other memory.
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.wrapping_add(number), Ordering::Relaxed);
    }

    /// One less. Only the thread that owns the count calls it.
    #[inline]
    pub(crate) fn one_less(&self) {
        self.add(u64::MAX);
    }

    /// The number.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A [`Count`] with a cache line of its own, and with the line that is fetched together with it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Tally(Count);

impl Tally {
    /// Counts one more. Only the thread that owns the tally calls it.
    #[inline]
    pub(crate) fn one(&self) {
        self.0.one();
    }

    /// The number.
    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// How many buckets a histogram has, besides the one for everything longer.
pub(crate) const BUCKETS: usize = 15;

/// How long things took.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// Not cumulative; the last one is for everything longer.
    buckets: [Count; BUCKETS + 1],
    nanos: Count,
}

/// Upper bounds of buckets, in nanoseconds.
pub(crate) type Bounds = [u64; BUCKETS];

impl Histogram {
    /// Counts a `span` under `bounds`. Only the thread that owns the histogram calls it.
    #[inline]
    pub(crate) fn record(&self, bounds: &Bounds, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let bucket = bounds.iter().position(|bound| nanos <= *bound).unwrap_or(BUCKETS);
        self.buckets[bucket].one();
        self.nanos.add(nanos);
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> Reading {
        Reading {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket].get()),
            nanos: self.nanos.get(),
        }
    }
}

/// A histogram at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) buckets: [u64; BUCKETS + 1],
    pub(crate) nanos: u64,
}

impl Reading {
    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket].wrapping_add(other.buckets[bucket])),
            nanos: self.nanos.wrapping_add(other.nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150];

    #[test]
    fn a_span_falls_into_the_first_bucket_that_is_not_shorter() {
        let histogram = Histogram::default();
        for nanos in [0, 10, 11, 150, 151, u64::MAX / 2] {
            histogram.record(&BOUNDS, Duration::from_nanos(nanos));
        }
        let Reading { buckets, .. } = histogram.read();
        assert_eq!((buckets[0], buckets[1], buckets[14], buckets[15]), (2, 1, 1, 2));
        assert_eq!(buckets.iter().sum::<u64>(), 6);
    }

    #[test]
    fn a_count_goes_down_again() {
        let count = Count::default();
        count.add(3);
        count.one_less();
        assert_eq!(count.get(), 2);
    }
}
