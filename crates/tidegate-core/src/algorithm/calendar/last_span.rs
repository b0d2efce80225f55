//! The window that was looked up last, in one word: nearly every request is in the same one, and the rules of a time zone take
//! microseconds.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::algorithm::fixed_window::Span;

const SECOND: u64 = 1_000_000_000;
/// Enough for 194 days in seconds; a start in seconds takes 34 of the other 40 bits.
const LENGTH_BITS: u32 = 24;

/// Remembers one window of whole seconds. 0 is none. Equal to any other: it says nothing that the calendar does not.
#[derive(Debug, Default)]
pub(super) struct LastSpan(AtomicU64);

impl LastSpan {
    /// The window remembered, if it holds `at`.
    pub(super) fn holding(&self, at: u64) -> Option<Span> {
        // Relaxed: the word is all there is to see.
        let word = self.0.load(Ordering::Relaxed);
        let start = (word >> LENGTH_BITS) * SECOND;
        let end = start + (word & ((1 << LENGTH_BITS) - 1)) * SECOND;
        (start <= at && at < end).then_some(Span { start, end })
    }

    /// Remembers `span` if it can be written in whole seconds. Not those that are cut where time ends.
    pub(super) fn remember(&self, Span { start, end }: Span) {
        let length = (end - start) / SECOND;
        if start % SECOND == 0 && end % SECOND == 0 && length >> LENGTH_BITS == 0 {
            let word = ((start / SECOND) << LENGTH_BITS) | length;
            self.0.store(word, Ordering::Relaxed);
        }
    }
}

impl Clone for LastSpan {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LastSpan {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
