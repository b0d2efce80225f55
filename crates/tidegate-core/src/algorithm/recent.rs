//! Spendings by their moments, oldest first: what a log and the slots in use have in common.

use alloc::collections::VecDeque;

use super::MAX_SKEW_NS;
use super::tally::Usage;

/// Spendings that may still count, each with a name of type `T`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recent<T> {
    spendings: VecDeque<Spending<T>>,
    total: u64,
    fresh_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spending<T> {
    at: u64,
    units: u64,
    name: T,
}

impl<T: Copy + PartialEq> Recent<T> {
    pub(crate) const fn new() -> Self {
        Self {
            spendings: VecDeque::new(),
            total: 0,
            fresh_at: 0,
        }
    }

    /// What of it counts for `span` nanoseconds, and the moment from which `units` more fit below `capacity`.
    pub(crate) fn read(&self, capacity: u64, units: u64, span: u64, now: u64) -> (Usage, u64) {
        let clock = self.last().max(now);
        let over = self
            .spendings
            .partition_point(|spending| spending.at + span <= clock);
        let used = self.total
            - self
                .spendings
                .range(..over)
                .map(|spending| spending.units)
                .sum::<u64>();
        let usage = Usage {
            used,
            fresh_at: if used == 0 { 0 } else { self.last() + span },
            fresh_at_if_spent: clock + span,
        };
        (
            usage,
            self.room_at(over, used.saturating_add(units).saturating_sub(capacity), span),
        )
    }

    /// Adds a spending, and forgets those that no longer count.
    pub(crate) fn spend(&mut self, units: u64, name: T, span: u64, now: u64) {
        let at = self.last().max(now);
        self.forget(span, at);
        match self.spendings.back_mut() {
            Some(last) if last.at == at && last.name == name => last.units += units,
            _ => self.spendings.push_back(Spending { at, units, name }),
        }
        self.total += units;
        self.fresh_at = (at + span).saturating_add(MAX_SKEW_NS);
    }

    /// Takes back all that was spent under `name`.
    pub(crate) fn take_back(&mut self, name: T) {
        let Some(first) = self.find_from(0, name) else {
            return;
        };
        if self.find_from(first + 1, name).is_some() {
            self.spendings.retain(|spending| spending.name != name);
            self.total = self.spendings.iter().map(|spending| spending.units).sum();
        } else if let Some(only) = self.spendings.remove(first) {
            // As good as always. The gap closes from its nearer end, where `retain` would move all that is behind it.
            self.total -= only.units;
        }
        self.trim();
    }

    /// Takes `units` off what was spent at `at`.
    pub(crate) fn give_back(&mut self, units: u64, at: u64) {
        let first = self.spendings.partition_point(|spending| spending.at < at);
        let Some(spending) = self.spendings.get_mut(first).filter(|spending| spending.at == at) else {
            return;
        };
        let units = units.min(spending.units);
        spending.units -= units;
        self.total -= units;
        if spending.units == 0 {
            self.spendings.remove(first);
            self.trim();
        }
    }

    /// Takes back the latest `units` of those that count for `span` nanoseconds. Each spending is taken out once at most, so that all
    /// who give back pay no more than those who spent.
    pub(crate) fn refund_latest(&mut self, units: u64, span: u64, now: u64) {
        self.forget(span, self.last().max(now));
        self.total -= take_off(units, &mut self.spendings, VecDeque::back_mut, VecDeque::pop_back);
        self.trim();
    }

    /// The same with the earliest.
    pub(crate) fn refund_earliest(&mut self, units: u64, span: u64, now: u64) {
        self.forget(span, self.last().max(now));
        self.total -= take_off(
            units,
            &mut self.spendings,
            VecDeque::front_mut,
            VecDeque::pop_front,
        );
        self.trim();
    }

    fn find_from(&self, first: usize, name: T) -> Option<usize> {
        let mut rest = self.spendings.range(first..);
        rest.position(|spending| spending.name == name)
            .map(|offset| first + offset)
    }

    pub(crate) fn fresh_at(&self) -> u64 {
        if self.spendings.is_empty() {
            0
        } else {
            self.fresh_at
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.spendings.back().map_or(0, |last| last.at)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.spendings.capacity() * size_of::<Spending<T>>()
    }

    /// When `excess` units of the spendings from `first` on have stopped counting.
    fn room_at(&self, first: usize, excess: u64, span: u64) -> u64 {
        let mut freed = 0;
        for spending in self.spendings.range(first..) {
            freed += spending.units;
            if freed >= excess {
                return spending.at + span;
            }
        }
        u64::MAX
    }

    fn forget(&mut self, span: u64, clock: u64) {
        while let Some(spending) = self
            .spendings
            .pop_front_if(|spending| spending.at + span <= clock)
        {
            self.total -= spending.units;
        }
        self.trim();
    }

    /// Gives memory back once three quarters of it are idle.
    fn trim(&mut self) {
        if self.spendings.len() < self.spendings.capacity() / 4 {
            self.spendings.shrink_to(self.spendings.len() * 2);
        }
    }
}

/// Takes `units` off the spendings at one end; how many there were.
fn take_off<T>(
    units: u64,
    spendings: &mut VecDeque<Spending<T>>,
    next: fn(&mut VecDeque<Spending<T>>) -> Option<&mut Spending<T>>,
    remove: fn(&mut VecDeque<Spending<T>>) -> Option<Spending<T>>,
) -> u64 {
    let mut left = units;
    while left > 0
        && let Some(spending) = next(spendings)
    {
        let taken = left.min(spending.units);
        left -= taken;
        spending.units -= taken;
        if spending.units == 0 {
            remove(spendings);
        }
    }
    units - left
}
