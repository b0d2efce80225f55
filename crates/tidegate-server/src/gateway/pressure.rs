//! Whether a worker keeps up with what it is asked at its doors.
//!
//! Proxies that ask wait some milliseconds for the answer (Envoy 20) and then go on without it. A worker that is asked for more than it can
//! do would answer everybody too late, so it refuses some at once and answers the others in time.
//!
//! What waits lies in the sockets of connections, which have their turns in laps. So what is asked now has waited for as long as the
//! lap before took, and this one until now, at the longest. Where that is too long it is refused; but some of each lap is answered
//! however long the one before was, or a worker that refuses as fast as it can would answer nobody.

use std::cell::Cell;
use std::convert::Infallible;
use std::time::Duration;

use tidegate_core::Timestamp;
use tokio::sync::Notify;

/// The longest that something may have waited that is still decided. The rest of what Envoy gives a call is for what else is done in
/// that lap, for the network and for Envoy.
const LONGEST: Duration = Duration::from_millis(12);

/// For so long each lap decides what it comes to.
const SHARE: Duration = Duration::from_millis(4);

/// If nobody asked anything for so long after a lap, nobody waited.
const REST: Duration = Duration::from_millis(1);

/// How a worker keeps up.
#[derive(Debug)]
pub(crate) struct Pressure {
    /// When the first question of this lap was asked.
    began: Cell<Option<Timestamp>>,
    /// How long the lap before this one took, if this one followed at once.
    before: Cell<Duration>,
    /// When that was over.
    ended: Cell<Timestamp>,
    /// Wakes who runs behind everything that waits by then: when it has its turn, the lap is over.
    lap: Notify,
}

impl Default for Pressure {
    fn default() -> Self {
        Self {
            began: Cell::default(),
            before: Cell::default(),
            ended: Cell::new(Timestamp::EPOCH),
            lap: Notify::default(),
        }
    }
}

impl Pressure {
    /// Whether what is asked at `now` has waited too long to be decided.
    pub(crate) fn is_too_high(&self, now: Timestamp) -> bool {
        let began = self.began.get().unwrap_or_else(|| self.begin(now));
        let lap = now.saturating_since(began);
        lap > SHARE && lap.saturating_add(self.before.get()) > LONGEST
    }

    /// Tells laps from each other for as long as the future is polled. `now` is asked for the time.
    pub(crate) async fn watch(&self, now: impl Fn() -> Timestamp) -> Infallible {
        loop {
            self.lap.notified().await;
            self.end(now());
        }
    }

    fn begin(&self, now: Timestamp) -> Timestamp {
        if now.saturating_since(self.ended.get()) > REST {
            self.before.set(Duration::ZERO);
        }
        self.began.set(Some(now));
        self.lap.notify_one();
        now
    }

    fn end(&self, now: Timestamp) {
        let began = self.began.take().unwrap_or(now);
        self.before.set(now.saturating_since(began));
        self.ended.set(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTANT: Duration = Duration::from_nanos(1);

    /// A worker, and what it says of questions `at` so many nanoseconds.
    struct Worker(Pressure);

    impl Worker {
        fn refuses(&self, at: Duration) -> bool {
            self.0.is_too_high(time(at))
        }

        fn ends_its_lap(&self, at: Duration) {
            self.0.end(time(at));
        }
    }

    fn time(at: Duration) -> Timestamp {
        Timestamp::from_nanos(1_800_000_000_000_000_000).saturating_add(at)
    }

    fn worker() -> Worker {
        Worker(Pressure::default())
    }

    #[test]
    fn what_comes_at_once_is_answered_as_long_as_that_is_in_time() {
        let worker = worker();
        assert!(!worker.refuses(Duration::ZERO));
        assert!(!worker.refuses(LONGEST));
        assert!(worker.refuses(LONGEST + INSTANT));
    }

    #[test]
    fn behind_a_long_lap_the_next_one_answers_less() {
        let worker = worker();
        worker.refuses(Duration::ZERO);
        worker.ends_its_lap(SHARE * 2);
        let begins = SHARE * 2 + REST;
        assert!(!worker.refuses(begins));
        assert!(!worker.refuses(begins + LONGEST - SHARE * 2));
        assert!(worker.refuses(begins + LONGEST - SHARE * 2 + INSTANT));
    }

    #[test]
    fn however_long_a_lap_was_the_next_one_answers_its_share() {
        let worker = worker();
        worker.refuses(Duration::ZERO);
        let mut lap = LONGEST * 100;
        for _ in 0..10 {
            worker.ends_its_lap(lap);
            assert!(!worker.refuses(lap));
            assert!(!worker.refuses(lap + SHARE));
            assert!(worker.refuses(lap + SHARE + INSTANT));
            lap += LONGEST * 100;
        }
    }

    #[test]
    fn a_rest_makes_up_for_every_lap_before() {
        let worker = worker();
        worker.refuses(Duration::ZERO);
        worker.ends_its_lap(LONGEST * 2);
        let begins = LONGEST * 2 + REST + INSTANT;
        assert!(!worker.refuses(begins));
        assert!(!worker.refuses(begins + LONGEST));
    }

    #[test]
    fn who_asks_alone_is_answered_however_late_everything_is() {
        let worker = worker();
        let mut at = Duration::ZERO;
        for _ in 0..10 {
            assert!(!worker.refuses(at));
            at += LONGEST * 10;
            worker.ends_its_lap(at);
        }
    }
}
