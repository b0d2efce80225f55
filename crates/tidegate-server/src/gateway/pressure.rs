//! Whether a worker keeps up with what it is asked.
//!
//! Proxies that ask a door wait some milliseconds for the answer (Envoy 20) and then go on without it. A worker with more to do than
//! that answers nobody in time, so it refuses what is asked next until it has caught up.
//!
//! What waits is not counted but timed: a task that sleeps for a moment comes in turn behind everything that waits then. As in CoDel (RFC 8289),
//! one long wait means nothing, since a system may have given the processor to somebody else; a wait that stays long does.

use std::cell::Cell;
use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

/// How often the worker is timed.
const EVERY: Duration = Duration::from_millis(5);

/// The longest that something may wait for its turn: half of what Envoy gives a call.
const MOST_WAIT: Duration = Duration::from_millis(10);

/// So many waits in a row that are longer mean that the worker does not keep up.
const LATE_IN_A_ROW: u8 = 4;

/// Fewer requests at a time than this are no pressure, however late they are: then it is not they who take the time.
const FEWEST_IN_FLIGHT: u64 = 32;

/// How a worker keeps up.
#[derive(Debug, Default)]
pub(crate) struct Pressure {
    /// Waits in a row that were too long.
    late: Cell<u8>,
}

impl Pressure {
    /// Whether there is more to do than can be done in time, where so many requests are being answered.
    pub(crate) fn is_high(&self, in_flight: u64) -> bool {
        self.late.get() >= LATE_IN_A_ROW && in_flight >= FEWEST_IN_FLIGHT
    }

    /// Times the worker for as long as the future is polled.
    pub(crate) async fn watch(&self) -> Infallible {
        let mut interval = interval(EVERY);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = interval.tick().await;
            self.waited(due.elapsed());
        }
    }

    fn waited(&self, wait: Duration) {
        let late = if wait > MOST_WAIT {
            self.late.get().saturating_add(1)
        } else {
            0
        };
        self.late.set(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(11);

    #[test]
    fn a_wait_that_stays_long_is_pressure_and_one_that_is_short_ends_it() {
        let pressure = Pressure::default();
        for _ in 1..LATE_IN_A_ROW {
            pressure.waited(LONG);
            assert!(!pressure.is_high(FEWEST_IN_FLIGHT));
        }
        pressure.waited(LONG);
        assert!(pressure.is_high(FEWEST_IN_FLIGHT));
        assert!(!pressure.is_high(FEWEST_IN_FLIGHT - 1));
        pressure.waited(MOST_WAIT);
        assert!(!pressure.is_high(FEWEST_IN_FLIGHT));
    }

    #[test]
    fn long_waits_now_and_then_are_none() {
        let pressure = Pressure::default();
        for _ in 0..100 {
            for _ in 1..LATE_IN_A_ROW {
                pressure.waited(LONG);
            }
            pressure.waited(MOST_WAIT);
            assert!(!pressure.is_high(FEWEST_IN_FLIGHT));
        }
    }
}
