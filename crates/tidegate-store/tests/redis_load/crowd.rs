//! Two instances and those who ask them.

use core::time::Duration;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tidegate_core::{Charge, Cost, Key, Limit, Rate, Timestamp};
use tidegate_store::redis::Settings;
use tidegate_store::{Redis, Store as _, StoreError};
use tidegate_test_servers::{Watch, until};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::asking::one;
use crate::pulse::Pulse;
use crate::report::{Report, Seen};

pub(crate) const INSTANCES: usize = 2;
/// Of each instance.
const ASKERS: u32 = 32;
/// How often each asks: 16,000 requests a second together, if the machine keeps up.
const EVERY: Duration = Duration::from_millis(4);
/// One request in so many is for the counter that is spent before the fault.
const SPENT_EVERY: u32 = 4;
/// What that counter admits.
pub(crate) const SPENT: u64 = 500;
/// What the other one admits: for about three seconds.
pub(crate) const SPENDING: u64 = 40_000;
/// Refusals in a row that show that a counter is spent.
const REFUSALS: u64 = 1_000;
/// So long that nothing comes back while a test runs.
const WINDOW: Duration = Duration::from_secs(90 * 24 * 3600);

/// How far the clock of one instance is behind, and that of the other ahead: the store's counts.
const WRONG: Duration = Duration::from_secs(5);

/// The shard of all counters.
pub(crate) const SHARD: u8 = 0x2f;

/// Clients that ask for two counters all the time: one that is spent soon, and one that is being spent while the fault happens.
pub(crate) struct Crowd {
    shared: Arc<Shared>,
    instances: Vec<Runtime>,
    askers: JoinSet<()>,
    timeout: Duration,
    pulse: Pulse,
    /// One crowd at a time, in whichever process.
    _alone: File,
}

struct Shared {
    watch: Watch,
    stopped: AtomicBool,
    spent: Counter,
    spending: Counter,
    tallies: [Tally; INSTANCES],
}

/// What the clients of one instance see.
#[derive(Default)]
struct Tally {
    longest_us: AtomicU64,
    timeouts: AtomicU64,
    unavailable: AtomicU64,
    /// When it last came to a decision on the counter that is being spent.
    last_us: AtomicU64,
    /// The longest time between two of these.
    gap_us: AtomicU64,
    /// When it came to a decision for the first time since [`Crowd::recovers`] began to look. 0: not yet.
    decided_us: AtomicU64,
}

struct Counter {
    key: Key,
    limit: Limit,
    quota: u64,
    admitted: AtomicU64,
    /// Since the last one that was admitted.
    refused: AtomicU64,
}

impl Crowd {
    /// Connects both instances and lets all begin to ask.
    pub(crate) fn start(settings: &Settings) -> Self {
        Self::asking([settings; INSTANCES], false)
    }

    /// The same where each instance has its own way to the store.
    pub(crate) fn on_ways(settings: [&Settings; INSTANCES]) -> Self {
        Self::asking(settings, false)
    }

    /// The same, of a policy that would rather refuse too much than let too much pass.
    pub(crate) fn cautious(settings: &Settings) -> Self {
        Self::asking([settings; INSTANCES], true)
    }

    fn asking(settings: [&Settings; INSTANCES], is_cautious: bool) -> Self {
        let alone = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("redis_load.lock"));
        let alone = alone.expect("a file");
        alone.lock().expect("a lock");
        let shared = Arc::new(Shared {
            watch: Watch::start(),
            stopped: AtomicBool::new(false),
            spent: Counter::new(1, SPENT, is_cautious),
            spending: Counter::new(2, SPENDING, is_cautious),
            tallies: Default::default(),
        });
        let mut crowd = Self {
            shared,
            instances: Vec::new(),
            askers: JoinSet::new(),
            timeout: settings[0].timeout,
            pulse: Pulse::start(),
            _alone: alone,
        };
        let stores = settings.map(|settings| crowd.instance(settings));
        for (instance, redis) in stores.into_iter().enumerate() {
            crowd.send_askers(instance, &redis);
        }
        crowd
    }

    /// Waits until the first counter is spent and a quarter of the second.
    pub(crate) fn gets_going(&self) {
        let (spent, spending) = (&self.shared.spent, &self.shared.spending);
        until("the crowd gets going", || {
            (spent.is_spent() && spending.admitted.load(Relaxed) >= SPENDING / 4).then_some(())
        });
    }

    /// Waits until both instances decide again. How long that takes from here, where the store has recovered.
    pub(crate) fn recovers(&self) -> Duration {
        let since = self.shared.watch.elapsed();
        for tally in &self.shared.tallies {
            tally.decided_us.store(0, Relaxed);
        }
        let latest = until("every instance decides again", || {
            let tallies = self.shared.tallies.iter();
            let decided = tallies.map(|tally| tally.decided_us.load(Relaxed));
            decided.clone().all(|moment| moment > 0).then(|| decided.max())?
        });
        Duration::from_micros(latest).saturating_sub(since)
    }

    /// Waits until both counters are spent, and says what was measured.
    pub(crate) fn ends(mut self, fault: &'static str, recovered: Duration) -> Report {
        let shared = &self.shared;
        until("all is spent", || {
            (shared.spent.is_spent() && shared.spending.is_spent()).then_some(())
        });
        shared.stopped.store(true, Relaxed);
        self.instances[0].block_on(async { while self.askers.join_next().await.is_some() {} });
        Report {
            fault,
            timeout: self.timeout,
            machine: self.pulse.ends(),
            instances: shared.tallies.each_ref().map(Tally::seen),
            recovered,
            over_spent: shared.spent.over(),
            over_spending: shared.spending.over(),
        }
    }

    /// An instance of Tidegate: a thread, and a store that is connected.
    fn instance(&mut self, settings: &Settings) -> Arc<Redis> {
        let mut builder = Builder::new_multi_thread();
        let watched = self.pulse.watched();
        builder.worker_threads(1).enable_all();
        builder.on_thread_start(move || watched.this_thread());
        let runtime = builder.build().expect("a runtime");
        let redis = Redis::new(settings, runtime.handle().clone()).expect("sound settings");
        let redis = Arc::new(redis);
        let (key, limit) = (Key::in_shard(0, SHARD), limit(1));
        until("the store is connected", || {
            let charges = [looking(key, &limit)];
            runtime.block_on(redis.charge(&charges, self.shared.now(0))).ok()
        });
        self.instances.push(runtime);
        redis
    }

    fn send_askers(&mut self, instance: usize, redis: &Arc<Redis>) {
        let handle = self.instances[instance].handle().clone();
        for asker in 0..ASKERS {
            let (shared, redis) = (Arc::clone(&self.shared), Arc::clone(redis));
            let first = EVERY * asker / ASKERS;
            self.askers
                .spawn_on(async move { shared.ask(instance, &redis, first).await }, &handle);
        }
    }
}

impl Shared {
    /// What one client does until it is stopped.
    async fn ask(&self, instance: usize, redis: &Redis, first: Duration) {
        let mut pace = interval_at(Instant::now() + first, EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for request in 0.. {
            pace.tick().await;
            if self.stopped.load(Relaxed) {
                break;
            }
            let counter = match request % SPENT_EVERY {
                0 => &self.spent,
                _ => &self.spending,
            };
            let charges = [one(counter.key, &counter.limit)];
            let watch = Watch::start();
            let answer = redis.charge(&charges, self.now(instance)).await;
            let tally = &self.tallies[instance];
            tally.longest_us.fetch_max(micros(watch.elapsed()), Relaxed);
            match answer {
                Ok(decisions) => self.decided(tally, counter, decisions.charged),
                Err(StoreError::Timeout) => count(&tally.timeouts),
                Err(_) => count(&tally.unavailable),
            }
        }
    }

    /// What an instance's clock says.
    fn now(&self, instance: usize) -> Timestamp {
        let right = Timestamp::EPOCH.saturating_add(2 * WRONG + self.watch.elapsed());
        match instance {
            0 => right.saturating_sub(WRONG),
            _ => right.saturating_add(WRONG),
        }
    }

    fn decided(&self, tally: &Tally, counter: &Counter, admitted: bool) {
        // A refusal of what is spent may have been remembered.
        if core::ptr::eq(counter, &self.spending) {
            let now = micros(self.watch.elapsed());
            let _ = tally.decided_us.compare_exchange(0, now, Relaxed, Relaxed);
            let last = tally.last_us.swap(now, Relaxed);
            if last > 0 {
                tally.gap_us.fetch_max(now.saturating_sub(last), Relaxed);
            }
        }
        if admitted {
            count(&counter.admitted);
            counter.refused.store(0, Relaxed);
        } else {
            count(&counter.refused);
        }
    }
}

impl Tally {
    fn seen(&self) -> Seen {
        Seen {
            longest: Duration::from_micros(self.longest_us.load(Relaxed)),
            undecided: Duration::from_micros(self.gap_us.load(Relaxed)),
            timeouts: self.timeouts.load(Relaxed),
            unavailable: self.unavailable.load(Relaxed),
        }
    }
}

impl Counter {
    fn new(number: u128, quota: u64, is_cautious: bool) -> Self {
        let limit = limit(quota);
        Self {
            key: Key::in_shard(number, SHARD),
            limit: if is_cautious { limit.cautious() } else { limit },
            quota,
            admitted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    fn is_spent(&self) -> bool {
        self.refused.load(Relaxed) >= REFUSALS.min(self.quota)
    }

    /// What was admitted above the quota; negative if requests that nobody got an answer to have spent some.
    fn over(&self) -> i64 {
        self.admitted.load(Relaxed).cast_signed() - self.quota.cast_signed()
    }
}

fn limit(quota: u64) -> Limit {
    let rate = Rate::new(quota, WINDOW).expect("a legal rate");
    Limit::token_bucket(rate, quota).expect("a legal limit")
}

fn looking(key: Key, limit: &Limit) -> Charge<'_> {
    Charge {
        cost: Cost::LOOK,
        ..one(key, limit)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Figures: nothing hangs on their order.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
