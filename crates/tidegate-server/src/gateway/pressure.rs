//! Whether a worker keeps up with what it is asked at its doors.
//!
//! Proxies that ask wait some milliseconds for the answer (Envoy 20) and then go on without it. A worker that is asked for more than it can
//! do would answer everybody too late, so it refuses some at once and answers the others in time.
//!
//! What waits lies in the sockets of connections, which have their turns in laps. So what is asked now has waited for as long as the
//! lap before took, and this one until now, at the longest. Where that is too long it is refused; but some of each lap is answered
//! however long the one before was, or a worker that refuses as fast as it can would answer nobody.
//!
//! The longest pause of a lap is not counted: it may be that the system gave the processor to somebody else, which ends by itself and is no
//! reason to refuse anybody. A worker that has too much to do makes many small steps.

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
    /// When the last question of this lap was asked.
    last: Cell<Timestamp>,
    /// The longest time between two of them.
    pause: Cell<Duration>,
    /// How long the lap before this one took without its pause, if this one followed at once.
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
            last: Cell::new(Timestamp::EPOCH),
            pause: Cell::default(),
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
        let lap = self.lasts(began, now);
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
        self.last.set(now);
        self.pause.set(Duration::ZERO);
        self.lap.notify_one();
        now
    }

    /// How long the lap that began at `began` has taken by `now`, without its pause.
    fn lasts(&self, began: Timestamp, now: Timestamp) -> Duration {
        let since = now.saturating_since(self.last.replace(now));
        let pause = self.pause.get().max(since);
        self.pause.set(pause);
        now.saturating_since(began).saturating_sub(pause)
    }

    fn end(&self, now: Timestamp) {
        let lap = self.began.take().map(|began| self.lasts(began, now));
        self.before.set(lap.unwrap_or_default());
        self.ended.set(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between two questions. It is the pause of every lap here, unless there is a longer one.
    const STEP: Duration = Duration::from_micros(100);

    /// A worker, and the time.
    struct Worker(Pressure, Cell<Duration>);

    impl Worker {
        fn now(&self) -> Timestamp {
            Timestamp::from_nanos(1_800_000_000_000_000_000).saturating_add(self.1.get())
        }

        fn rests(&self, span: Duration) {
            self.1.set(self.1.get() + span);
        }

        /// Whether the next question is refused.
        fn refuses(&self) -> bool {
            let refuses = self.0.is_too_high(self.now());
            self.rests(STEP);
            refuses
        }

        /// How many of the questions that come within `span` are answered. Those are the first.
        fn answers(&self, span: Duration) -> u32 {
            let refused: Vec<bool> = (0..steps(span)).map(|_| self.refuses()).collect();
            assert!(refused.is_sorted());
            refused
                .iter()
                .filter(|refused| !**refused)
                .count()
                .try_into()
                .unwrap()
        }

        fn ends_its_lap(&self) {
            self.0.end(self.now());
        }
    }

    fn worker() -> Worker {
        Worker(Pressure::default(), Cell::default())
    }

    /// So many questions are asked in a lap until `span` has passed without its pause: one at each end, and one for the pause.
    fn within(span: Duration) -> u32 {
        steps(span) + 2
    }

    fn steps(span: Duration) -> u32 {
        u32::try_from(span.as_nanos() / STEP.as_nanos()).unwrap()
    }

    #[test]
    fn what_comes_at_once_is_answered_as_long_as_that_is_in_time() {
        assert_eq!(worker().answers(LONGEST * 2), within(LONGEST));
    }

    #[test]
    fn behind_a_long_lap_the_next_one_answers_less() {
        let worker = worker();
        worker.answers(SHARE * 2);
        worker.ends_its_lap();
        // The lap before had its pause, too.
        assert_eq!(worker.answers(LONGEST), within(LONGEST - SHARE * 2 + STEP));
    }

    #[test]
    fn however_long_a_lap_was_the_next_one_answers_its_share() {
        let worker = worker();
        for _ in 0..10 {
            worker.answers(LONGEST * 100);
            worker.ends_its_lap();
            assert_eq!(worker.answers(LONGEST), within(SHARE));
        }
    }

    #[test]
    fn a_rest_makes_up_for_every_lap_before() {
        let worker = worker();
        worker.answers(LONGEST * 2);
        worker.ends_its_lap();
        worker.rests(REST + STEP);
        assert_eq!(worker.answers(LONGEST * 2), within(LONGEST));
    }

    #[test]
    fn a_pause_is_no_reason_to_refuse_anybody() {
        let worker = worker();
        for _ in 0..10 {
            assert!(!worker.refuses());
            worker.rests(LONGEST * 10);
            assert_eq!(worker.answers(SHARE), within(SHARE) - 2, "behind the pause");
            worker.ends_its_lap();
        }
    }

    #[test]
    fn of_two_pauses_the_shorter_one_counts() {
        let worker = worker();
        assert!(!worker.refuses());
        worker.rests(LONGEST * 10);
        assert!(!worker.refuses());
        worker.rests(LONGEST);
        assert!(worker.refuses());
    }

    #[test]
    fn who_asks_alone_is_answered_however_late_everything_is() {
        let worker = worker();
        for _ in 0..10 {
            assert!(!worker.refuses());
            worker.rests(LONGEST * 10);
            worker.ends_its_lap();
        }
    }
}
