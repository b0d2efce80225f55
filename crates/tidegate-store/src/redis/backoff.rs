//! How long to wait between tries.

use core::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(40);
/// The longest.
const LONGEST: Duration = Duration::from_millis(640);

/// Waits that double, each up to a fourth longer at random, so that many instances do not come at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// The next wait.
    pub(crate) fn step(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(LONGEST);
        wait.mul_f64(1.0 + fastrand::f64() / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_the_first_to_the_longest_and_differ_by_a_fourth_at_most() {
        let mut backoff = Backoff::new();
        for ms in [40, 80, 160, 320, 640, 640] {
            let (wait, least) = (backoff.step(), Duration::from_millis(ms));
            assert!(
                least <= wait && wait <= least * 5 / 4,
                "{wait:?} instead of {least:?}"
            );
        }
    }
}
