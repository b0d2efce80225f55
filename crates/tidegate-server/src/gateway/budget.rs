//! How many requests may be tried once more.

use std::cell::Cell;

/// Lets one request in five be tried once more, and a few more after a quiet time. Without it, an upstream that fails everything
/// would get everything twice, just when it can bear that least. A worker's own.
pub(crate) struct Budget(Cell<u32>);

/// What a request saves up, and what trying one once more costs.
const SAVED: u32 = 1;
const COST: u32 = 5;
/// The most that is saved up: ten tries.
const MOST: u32 = 10 * COST;

impl Budget {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MOST))
    }

    /// A request has come.
    pub(crate) fn save(&self) {
        self.0.set(MOST.min(self.0.get() + SAVED));
    }

    /// Whether a request may be tried once more.
    pub(crate) fn spend(&self) -> bool {
        let left = self.0.get().checked_sub(COST);
        if let Some(left) = left {
            self.0.set(left);
        }
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_everything_fails_one_in_five_is_tried_once_more() {
        let budget = Budget::new();
        while budget.spend() {}
        let tried = (0..1000)
            .filter(|_| {
                budget.save();
                budget.spend()
            })
            .count();
        assert_eq!(tried, 200);
    }

    #[test]
    fn ten_tries_are_saved_up_and_no_more() {
        let budget = Budget::new();
        (0..1000).for_each(|_| budget.save());
        assert_eq!((0..1000).filter(|_| budget.spend()).count(), 10);
    }
}
