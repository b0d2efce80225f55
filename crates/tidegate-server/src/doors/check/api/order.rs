//! Checks of one question that are decided at the same time, and yet as if one came after the other.
//!
//! A check waits for those before it until it is known what they count by, and then for those that count by something that it counts by, too. So each
//! counter sees them in their order, and those that have nothing in common share calls to the store.

use std::cell::RefCell;

use smallvec::SmallVec;
use tidegate_core::{Algorithm, Key};
use tidegate_policy::Plan;
use tokio::sync::Notify;

/// The order of some checks.
pub(super) struct Order {
    stages: RefCell<Vec<Stage>>,
    moved: Notify,
}

/// How far a check is.
enum Stage {
    /// Nobody knows what it counts by.
    Coming,
    /// It counts by these.
    Asking(SmallVec<[Key; 2]>),
    /// It spends nothing more.
    Decided,
}

/// The place of one check among the others. Dropped, it is decided.
pub(super) struct Turn<'o> {
    order: &'o Order,
    index: usize,
}

impl Order {
    /// That of `count` checks.
    pub(super) fn of(count: usize) -> Self {
        Self {
            stages: RefCell::new((0..count).map(|_| Stage::Coming).collect()),
            moved: Notify::new(),
        }
    }

    /// The place of the check at `index`.
    pub(super) fn turn(&self, index: usize) -> Turn<'_> {
        Turn { order: self, index }
    }

    fn set(&self, index: usize, stage: Stage) {
        if let Some(place) = self.stages.borrow_mut().get_mut(index) {
            *place = stage;
        }
        self.moved.notify_waiters();
    }

    /// The first check from the one at `start` up to the one at `index` that counts by one of `keys`, or may. Those that were passed over hold nobody up later either.
    fn holding_up(&self, start: usize, index: usize, keys: &[Key]) -> Option<usize> {
        let stages = self.stages.borrow();
        let holds_up = |stage: &Stage| match stage {
            Stage::Coming => true,
            Stage::Asking(others) => others.iter().any(|key| keys.contains(key)),
            Stage::Decided => false,
        };
        (start..index).find(|before| stages.get(*before).is_some_and(holds_up))
    }
}

impl Turn<'_> {
    /// Waits until the counters with these `keys` may be asked.
    pub(super) async fn wait(&self, keys: SmallVec<[Key; 2]>) {
        self.order.set(self.index, Stage::Asking(keys.clone()));
        let mut start = 0;
        loop {
            let moved = self.order.moved.notified();
            match self.order.holding_up(start, self.index, &keys) {
                None => return,
                Some(before) => start = before,
            }
            moved.await;
        }
    }

    /// The counters have been asked, and nothing is held of them.
    pub(super) fn decided(&self) {
        self.order.set(self.index, Stage::Decided);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.decided();
    }
}

/// What `plan` counts by.
pub(super) fn keys(plan: &Plan<'_>) -> SmallVec<[Key; 2]> {
    plan.charges.iter().map(|charge| charge.key).collect()
}

/// Whether `plan` takes slots, which are given back when its check has ended.
pub(super) fn takes_slots(plan: &Plan<'_>) -> bool {
    let mut charges = plan.charges.iter();
    charges.any(|charge| charge.limit.algorithm() == Algorithm::Concurrency)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use smallvec::smallvec;
    use tidegate_core::KeyHasher;

    use super::*;

    fn key(name: &str) -> Key {
        KeyHasher::new([7; 16]).key(name.as_bytes())
    }

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        let mut future = pin!(future);
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        polled == Poll::Ready(())
    }

    #[test]
    fn a_check_waits_for_those_before_it_that_count_by_the_same() {
        let order = Order::of(4);
        let turns: Vec<Turn<'_>> = (0..4).map(|index| order.turn(index)).collect();
        assert!(
            !is_ready(turns[1].wait(smallvec![key("b")])),
            "nobody knows what the first counts by"
        );
        assert!(is_ready(turns[0].wait(smallvec![key("a"), key("c")])));
        assert!(is_ready(turns[1].wait(smallvec![key("b")])));
        assert!(!is_ready(turns[2].wait(smallvec![key("c"), key("d")])));
        assert!(
            !is_ready(turns[3].wait(smallvec![key("d")])),
            "the third comes first"
        );
        turns[0].decided();
        assert!(is_ready(turns[2].wait(smallvec![key("c"), key("d")])));
        assert!(!is_ready(turns[3].wait(smallvec![key("d")])));
        let mut turns = turns;
        drop(turns.remove(2));
        assert!(is_ready(turns[2].wait(smallvec![key("d")])));
    }

    #[tokio::test]
    async fn who_waits_is_woken_and_goes_in_order() {
        let (order, gone) = (Order::of(20), RefCell::new(Vec::new()));
        let one = |index: usize| {
            let (order, gone) = (&order, &gone);
            async move {
                let turn = order.turn(index);
                turn.wait(smallvec![key(["even", "odd"][index % 2])]).await;
                tokio::task::yield_now().await;
                gone.borrow_mut().push(index);
            }
        };
        // The last is polled first.
        futures_util::future::join_all((0..20).rev().map(one)).await;
        let of = |rest: usize| {
            gone.borrow()
                .iter()
                .copied()
                .filter(|index| index % 2 == rest)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(0), (0..20).step_by(2).collect::<Vec<_>>());
        assert_eq!(of(1), (1..20).step_by(2).collect::<Vec<_>>());
    }
}
