//! Timeouts without a timer per request: each worker looks at all its deadlines once per tick.
//!
//! Setting one is a store to memory. A deadline passes at the first tick at or after its time, so it may be late by one tick and is
//! never early.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use slab::Slab;

/// All deadlines of one worker.
pub(crate) struct Deadlines {
    tick: Duration,
    now: Cell<u64>,
    turns: Cell<u64>,
    slots: RefCell<Slab<Slot>>,
}

struct Slot {
    due: u64,
    waker: Option<Waker>,
    owners: u32,
}

/// Due never.
pub(crate) const OFF: u64 = u64::MAX;

impl Deadlines {
    /// Deadlines that are kept to within `tick`.
    pub(crate) fn new(tick: Duration) -> Rc<Self> {
        Rc::new(Self {
            tick: tick.max(Duration::from_millis(1)),
            now: Cell::new(0),
            turns: Cell::new(0),
            slots: RefCell::default(),
        })
    }

    /// The tick that keeps timeouts of at least `shortest` to an eighth, at most 100 ms.
    pub(crate) fn tick_for(shortest: Duration) -> Duration {
        (shortest / 8).clamp(Duration::from_millis(1), Duration::from_millis(100))
    }

    pub(crate) fn tick(&self) -> Duration {
        self.tick
    }

    /// Ticks so far.
    pub(crate) fn now(&self) -> u64 {
        self.now.get()
    }

    /// A number above all that were given out before: it tells in which order things happened, also within one tick.
    pub(crate) fn turn(&self) -> u64 {
        let turn = self.turns.get() + 1;
        self.turns.set(turn);
        turn
    }

    /// How many ticks cover `span`.
    pub(crate) fn ticks(&self, span: Duration) -> u64 {
        // In 64 bits, because dividing 128-bit numbers takes longer than all the rest.
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(OFF);
        nanos(span).div_ceil(nanos(self.tick))
    }

    /// The tick by which `span` from now has passed.
    pub(crate) fn due_after(&self, span: Duration) -> u64 {
        // One more than covers the span: part of the current tick has passed already.
        self.now().saturating_add(self.ticks(span)).saturating_add(1)
    }

    /// A new deadline, off.
    pub(crate) fn deadline(self: &Rc<Self>) -> Deadline {
        let slot = Slot {
            due: OFF,
            waker: None,
            owners: 1,
        };
        let index = self.slots.borrow_mut().insert(slot);
        Deadline {
            all: self.clone(),
            index,
        }
    }

    /// One tick has passed: wakes whoever waits for what is due now.
    pub(crate) fn advance(&self) {
        self.now.set(self.now.get() + 1);
        let now = self.now.get();
        self.wake(|slot| slot.due <= now);
    }

    /// Wakes everybody who waits, due or not, to look at what else has changed.
    pub(crate) fn wake_all(&self) {
        self.wake(|_| true);
    }

    fn wake(&self, mut chosen: impl FnMut(&Slot) -> bool) {
        let mut slots = self.slots.borrow_mut();
        let wakers: Vec<Waker> = slots
            .iter_mut()
            .filter(|(_, slot)| chosen(slot))
            .filter_map(|(_, slot)| slot.waker.take())
            .collect();
        drop(slots);
        for waker in wakers {
            waker.wake();
        }
    }
}

/// A moment after which something has taken too long. Clones share it.
pub(crate) struct Deadline {
    all: Rc<Deadlines>,
    index: usize,
}

impl Deadline {
    /// Due `span` from now.
    pub(crate) fn set(&self, span: Duration) {
        self.set_due(self.all.due_after(span));
    }

    /// Due never.
    pub(crate) fn clear(&self) {
        self.set_due(OFF);
    }

    /// Ready once it has passed; else the task is woken when it does, or by [`Deadlines::wake_all`].
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.all.now();
        let mut slots = self.all.slots.borrow_mut();
        let Some(slot) = slots.get_mut(self.index) else {
            return Poll::Pending;
        };
        if slot.due <= now {
            return Poll::Ready(());
        }
        match &mut slot.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Passes now.
    pub(crate) fn pass(&self) {
        let mut slots = self.all.slots.borrow_mut();
        let Some(slot) = slots.get_mut(self.index) else {
            return;
        };
        slot.due = 0;
        let waker = slot.waker.take();
        drop(slots);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Due at the tick `due`, or earlier if it was.
    pub(crate) fn set_no_later(&self, due: u64) {
        if let Some(slot) = self.all.slots.borrow_mut().get_mut(self.index) {
            slot.due = slot.due.min(due);
        }
    }

    /// Due at the tick `due`.
    pub(crate) fn set_due(&self, due: u64) {
        if let Some(slot) = self.all.slots.borrow_mut().get_mut(self.index) {
            slot.due = due;
        }
    }
}

impl Clone for Deadline {
    fn clone(&self) -> Self {
        if let Some(slot) = self.all.slots.borrow_mut().get_mut(self.index) {
            slot.owners += 1;
        }
        Self {
            all: self.all.clone(),
            index: self.index,
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let mut slots = self.all.slots.borrow_mut();
        let Some(slot) = slots.get_mut(self.index) else {
            return;
        };
        slot.owners -= 1;
        if slot.owners == 0 {
            let slot = slots.remove(self.index);
            drop(slots);
            drop(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(deadline: &Deadline) -> bool {
        deadline.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_deadline_is_never_early_and_at_most_one_tick_late() {
        let all = Deadlines::new(Duration::from_millis(10));
        let deadline = all.deadline();
        deadline.set(Duration::from_millis(25));
        let ticks = (1..).find(|_| {
            all.advance();
            passed(&deadline)
        });
        // 25 ms are over during the third or the fourth tick, depending on where the first one began.
        assert_eq!(ticks, Some(4));
    }

    #[test]
    fn a_cleared_deadline_never_passes_and_a_set_one_starts_anew() {
        let all = Deadlines::new(Duration::from_millis(10));
        let deadline = all.deadline();
        assert!(!passed(&deadline));
        deadline.set(Duration::ZERO);
        all.advance();
        assert!(passed(&deadline));
        deadline.set(Duration::from_millis(10));
        assert!(!passed(&deadline));
        deadline.clear();
        for _ in 0..100 {
            all.advance();
        }
        assert!(!passed(&deadline));
    }

    #[test]
    fn the_last_owner_frees_the_slot() {
        let all = Deadlines::new(Duration::from_millis(10));
        let one = all.deadline();
        let two = one.clone();
        drop(one);
        assert_eq!(all.slots.borrow().len(), 1);
        drop(two);
        assert_eq!(all.slots.borrow().len(), 0);
    }
}
