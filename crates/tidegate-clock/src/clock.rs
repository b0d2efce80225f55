//! The one place that reads the clock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};
use tidegate_core::Timestamp;

/// Says what time it is. Never runs back.
///
/// Cloning is cheap; clones share one time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System(Arc<SystemClock>),
    Manual(ManualClock),
}

impl Clock {
    /// The machine's time: a clock that counts through suspend (`CLOCK_BOOTTIME`), anchored to the wall clock.
    ///
    /// A wall clock that is set forward is followed within [`ANCHOR_EVERY`]; one that is set back is not, because time that ran
    /// back would hand out tokens or windows twice. Until the wall catches up, moments shown to clients are ahead by as much.
    pub fn system() -> Self {
        Self(Source::System(Arc::new(SystemClock::anchored())))
    }

    /// The time that `hand` shows.
    pub fn manual(hand: ManualClock) -> Self {
        Self(Source::Manual(hand))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System(clock) => clock.now(),
            Source::Manual(hand) => hand.now(),
        }
    }
}

/// How long a forward step of the wall clock may go unseen, in nanoseconds of running time.
pub const ANCHOR_EVERY: u64 = 1_000_000_000;

/// Running time plus an offset that only grows.
struct SystemClock {
    /// Wall time minus running time, in nanoseconds.
    offset: AtomicU64,
    /// Running time at the last look at the wall.
    looked: AtomicU64,
}

impl SystemClock {
    fn anchored() -> Self {
        let running = read(ClockId::Boottime);
        Self {
            offset: AtomicU64::new(read(ClockId::Realtime).saturating_sub(running)),
            looked: AtomicU64::new(running),
        }
    }

    fn now(&self) -> Timestamp {
        let running = read(ClockId::Boottime);
        self.at(running, || read(ClockId::Realtime))
    }

    /// The time when `running` has passed since boot. Each atomic stands alone: `offset` only grows, so a thread that sees an
    /// older one is late by the step at worst, and `looked` only decides who looks at the wall.
    fn at(&self, running: u64, wall: impl FnOnce() -> u64) -> Timestamp {
        if running.saturating_sub(self.looked.load(Ordering::Relaxed)) >= ANCHOR_EVERY {
            self.looked.store(running, Ordering::Relaxed);
            self.offset
                .fetch_max(wall().saturating_sub(running), Ordering::Relaxed);
        }
        Timestamp::from_nanos(running.saturating_add(self.offset.load(Ordering::Relaxed)))
    }
}

impl fmt::Debug for SystemClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemClock")
    }
}

/// One clock of the kernel, in nanoseconds; moments before its zero count as zero.
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// A clock that moves only when told: for tests and replays. Clones share one hand.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    hand: Arc<AtomicU64>,
    /// How far each look moves the hand, in nanoseconds.
    step: u64,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn starting_at(start: Timestamp) -> Self {
        Self {
            hand: Arc::new(AtomicU64::new(start.as_nanos())),
            step: 0,
        }
    }

    /// The same hand, which moves on by `span` whenever it is looked at through this clock: all that is done takes as long as it looks at
    /// the time often.
    #[must_use]
    pub fn stepping(self, span: std::time::Duration) -> Self {
        let step = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { step, ..self }
    }

    /// Moves the hand forward by `span`.
    pub fn advance(&self, span: std::time::Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        // The hand stands alone: nothing else is published with it.
        self.hand.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The time it shows.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.hand.fetch_add(self.step, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(offset: u64, looked: u64) -> SystemClock {
        SystemClock {
            offset: AtomicU64::new(offset),
            looked: AtomicU64::new(looked),
        }
    }

    #[test]
    fn a_wall_clock_set_forward_is_followed_at_the_next_look() {
        let clock = clock(1_000, 0);
        assert_eq!(clock.at(5, || 9_000_000).as_nanos(), 1_005);
        let later = ANCHOR_EVERY;
        assert_eq!(clock.at(later, || later + 9_000).as_nanos(), later + 9_000);
    }

    #[test]
    fn a_wall_clock_set_back_never_makes_time_run_back() {
        let clock = clock(1_000_000, 0);
        let before = clock.at(10, || unreachable!("not yet time to look"));
        let after = clock.at(ANCHOR_EVERY, || 3);
        assert_eq!(after.as_nanos(), ANCHOR_EVERY + 1_000_000);
        assert!(after > before);
    }

    #[test]
    fn the_systems_time_is_the_walls_at_the_start() {
        let now = Clock::system().now().as_nanos();
        let wall = read(ClockId::Realtime);
        assert!(wall.abs_diff(now) < 1_000_000_000, "{wall} against {now}");
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let hand = ManualClock::starting_at(Timestamp::from_nanos(7));
        let clock = Clock::manual(hand.clone());
        assert_eq!(clock.now(), clock.now());
        hand.advance(std::time::Duration::from_nanos(3));
        assert_eq!(clock.now(), Timestamp::from_nanos(10));
    }

    #[test]
    fn a_stepping_clock_moves_with_every_look() {
        let hand = ManualClock::starting_at(Timestamp::from_nanos(7));
        let clock = Clock::manual(hand.clone().stepping(std::time::Duration::from_nanos(2)));
        assert_eq!(
            [(); 3].map(|()| clock.now()),
            [7, 9, 11].map(Timestamp::from_nanos)
        );
        assert_eq!(hand.now(), Timestamp::from_nanos(13));
        assert_eq!(hand.now(), Timestamp::from_nanos(13));
    }
}
