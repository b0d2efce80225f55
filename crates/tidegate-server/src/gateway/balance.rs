//! Which server the next request goes to.
//!
//! Smooth weighted round robin, with weights that shrink by what a server has in flight. Servers that are equally quick get exactly
//! their shares, evenly spread; one that answers slowly gets less by itself. Each worker balances what it sends itself: that shares
//! nothing with other threads, and shares of all workers add up to the same. Looking at all servers costs little as long as there
//! are at most 64, so nothing is gained by drawing two of them at random.

use std::cell::{Cell, RefCell};

/// The weights of the servers of one upstream, and how far each is behind its share.
pub(crate) struct Balance {
    weights: Vec<u32>,
    credits: RefCell<Vec<i64>>,
    usable: Cell<u64>,
}

/// What one unit of weight is worth, so that dividing it by requests in flight loses little.
const UNIT: i64 = 1 << 20;

impl Balance {
    pub(crate) fn new(weights: Vec<u32>) -> Self {
        Self {
            credits: RefCell::new(vec![0; weights.len()]),
            weights,
            usable: Cell::new(u64::MAX),
        }
    }

    /// The next of the `usable` servers, of which there is a bit for each. `in_flight` says what each has to do already.
    pub(crate) fn next(&self, usable: u64, in_flight: impl Fn(usize) -> u32) -> Option<usize> {
        let credits = &mut *self.credits.borrow_mut();
        if self.usable.replace(usable) != usable {
            // Nobody makes up for the time when it, or another, was away.
            credits.fill(0);
        }
        let mut total = 0;
        let mut best: Option<usize> = None;
        for index in bits(usable, self.weights.len()) {
            let share = share(self.weights[index], in_flight(index));
            credits[index] += share;
            total += share;
            if best.is_none_or(|best| credits[index] > credits[best]) {
                best = Some(index);
            }
        }
        let best = best?;
        credits[best] -= total;
        Some(best)
    }

    /// The least busy of the servers in `usable`, out of turn.
    pub(crate) fn least_busy(&self, usable: u64, in_flight: impl Fn(usize) -> u32) -> Option<usize> {
        let credits = self.credits.borrow();
        bits(usable, self.weights.len())
            .max_by_key(|index| (share(self.weights[*index], in_flight(*index)), credits[*index]))
    }
}

fn share(weight: u32, in_flight: u32) -> i64 {
    i64::from(weight) * UNIT / (i64::from(in_flight) + 1)
}

fn bits(set: u64, count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |index| set >> index & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: fn(usize) -> u32 = |_| 0;

    fn turns(balance: &Balance, usable: u64, count: usize) -> Vec<usize> {
        (0..count).map(|_| balance.next(usable, IDLE).unwrap()).collect()
    }

    #[test]
    fn each_server_gets_exactly_its_share_evenly_spread() {
        let balance = Balance::new(vec![5, 1, 1]);
        assert_eq!(turns(&balance, 0b111, 7), [0, 0, 1, 0, 2, 0, 0]);
        let many = turns(&balance, 0b111, 7000);
        let count = |server| many.iter().filter(|turn| **turn == server).count();
        assert_eq!([count(0), count(1), count(2)], [5000, 1000, 1000]);
    }

    #[test]
    fn a_server_that_is_away_gets_nothing_and_makes_up_for_nothing_afterwards() {
        let balance = Balance::new(vec![1, 1, 1]);
        turns(&balance, 0b111, 5);
        assert_eq!(turns(&balance, 0b101, 6), [0, 2, 0, 2, 0, 2]);
        assert_eq!(turns(&balance, 0b111, 6), [0, 1, 2, 0, 1, 2]);
        assert_eq!(balance.next(0, IDLE), None);
    }

    #[test]
    fn a_server_that_is_behind_with_its_work_gets_less() {
        let balance = Balance::new(vec![1, 1]);
        let busy = |index| if index == 0 { 9 } else { 0 };
        let to_busy = (0..1100).filter(|_| balance.next(0b11, busy) == Some(0)).count();
        assert!((95..=105).contains(&to_busy), "{to_busy}");
    }

    #[test]
    fn the_least_busy_takes_over() {
        let balance = Balance::new(vec![1, 4, 1]);
        let busy = |index| [0, 8, 0][index];
        assert_eq!(balance.least_busy(0b110, busy), Some(2));
        assert_eq!(balance.least_busy(0b111, IDLE), Some(1));
        assert_eq!(balance.least_busy(0, IDLE), None);
    }

    #[test]
    fn the_most_servers_and_the_greatest_weights_fit() {
        let balance = Balance::new(vec![1000; 64]);
        let all = turns(&balance, u64::MAX, 64 * 100);
        assert!((0..64).all(|server| all.iter().filter(|turn| **turn == server).count() == 100));
    }
}
