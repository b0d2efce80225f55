//! The store that several instances share: a Redis or Valkey, alone, under Sentinels, or a Cluster.

pub mod api_keys;
mod backoff;
mod breaker;
mod call;
mod cluster;
mod denials;
mod dial;
mod fault;
mod figures;
mod lane;
mod link;
mod name;
mod numbers;
mod refund;
mod script;
mod sentinel;
mod servers;
mod settings;
mod split;

use core::fmt;
use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smallvec::SmallVec;
use tidegate_core::{Charge, Decisions, HoldId, Key, Timestamp};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use breaker::BreakerState;
pub use dial::SettingsError;
pub use fault::FAULTS;
pub use figures::{Figures, LATENCY_BOUNDS_US, ServerFigures};
pub use numbers::{Numbers, Uncountable};
pub use settings::{Address, Login, Password, Servers, Settings, Tls};

use crate::{NotRefunded, Store, StoreError};

use call::{Ask, Asked, Call};
use denials::Denials;
use fault::Fault;
use figures::Counters;
use lane::{Lane, Receiver};
use numbers::Kind;
use script::{Program, Programs};
use servers::{Question, Then};
use split::{Answered, Part};

/// Counters in a Redis or Valkey that several instances share: one limit over all of them.
///
/// Requests that come at one time share calls, and calls share one connection to each server. No request waits longer than
/// [`Settings::timeout`]: without an answer it fails with [`StoreError`], and at once where the server is known not to answer.
pub struct Redis {
    inner: Arc<Inner>,
    /// By shard; only the first where all is on one server.
    lanes: Box<[OnceLock<Lanes>]>,
    carriers: Mutex<JoinSet<()>>,
    runtime: Handle,
}

type Lanes = Arc<Lane<Asked, Answered>>;

/// What the tasks share.
struct Inner {
    servers: servers::Servers,
    prefix: String,
    timeout: Duration,
    /// Makes the names of holds unique among all instances.
    instance: u64,
    programs: Programs,
    clock: Clock,
    /// None where answers must be exact in what remains, too.
    denials: Option<Denials>,
    counters: Counters,
    /// What is given back after the request was answered.
    afterwards: Mutex<JoinSet<()>>,
    runtime: Handle,
}

/// Whose time counts.
enum Clock {
    /// The store's.
    Store,
    /// For tests: that of the last request, in microseconds.
    #[cfg(feature = "conformance")]
    Caller(AtomicU64),
}

impl Redis {
    /// Begins to connect, in tasks of `runtime`. They end with the store.
    ///
    /// A request is quickest if it is made on the same runtime.
    ///
    /// # Errors
    /// [`SettingsError`]: certificates or keys cannot be read. That a server does not answer is no error.
    pub fn new(settings: &Settings, runtime: Handle) -> Result<Self, SettingsError> {
        Self::with(
            settings,
            runtime,
            Programs::new(script::Clock::Store),
            Clock::Store,
        )
    }

    /// For tests: goes by the time that requests say, in whole microseconds. All that are made at one time must say the same.
    ///
    /// # Errors
    /// As [`Redis::new`].
    #[cfg(feature = "conformance")]
    pub fn by_callers_clock(settings: &Settings, runtime: Handle) -> Result<Self, SettingsError> {
        let programs = Programs::new(script::Clock::Caller);
        Self::with(settings, runtime, programs, Clock::Caller(AtomicU64::new(0)))
    }

    fn with(
        settings: &Settings,
        runtime: Handle,
        programs: Programs,
        clock: Clock,
    ) -> Result<Self, SettingsError> {
        let entered = runtime.enter();
        let servers = servers::Servers::start(settings)?;
        drop(entered);
        let lanes = if servers.are_many() { cluster::SHARDS } else { 1 };
        Ok(Self {
            lanes: (0..lanes).map(|_| OnceLock::new()).collect(),
            carriers: Mutex::new(JoinSet::new()),
            inner: Arc::new(Inner {
                servers,
                prefix: settings.prefix.clone(),
                timeout: settings.timeout,
                // Drawn by the system.
                instance: RandomState::new().build_hasher().finish(),
                programs,
                denials: clock.now_us().is_none().then(Denials::new),
                clock,
                counters: Counters::default(),
                afterwards: Mutex::new(JoinSet::new()),
                runtime: runtime.clone(),
            }),
            runtime,
        })
    }

    /// What it has done so far, and how it is.
    pub fn figures(&self) -> Figures {
        let links = self.inner.servers.links();
        let servers = links.iter().map(|link| ServerFigures {
            name: link.name().to_owned(),
            connected: link.is_up(),
            breaker: link.breaker(),
        });
        self.inner
            .counters
            .read(self.inner.servers.events(), servers.collect())
    }

    /// Brings a part to its lane.
    fn bring(&self, part: &Part, deadline: Instant) -> Result<Receiver<Answered>, StoreError> {
        if !self.inner.servers.lets_in(part.shard) {
            return Err(StoreError::Unavailable);
        }
        let lane = self.lane(part.shard).ok_or(StoreError::Unavailable)?;
        lane.bring(part.asked.clone(), part.asked.asks.len(), deadline)
            .map_err(|lane::Full| {
                count(&self.inner.counters.overloaded);
                StoreError::Unavailable
            })
    }

    /// The lane of a shard, which gets its carriers when it is first asked for.
    fn lane(&self, shard: u8) -> Option<&Lanes> {
        let lane = self.lanes.get(usize::from(shard))?;
        Some(lane.get_or_init(|| {
            let lane = Arc::new(Lane::new());
            let mut carriers = self.carriers.lock().unwrap_or_else(PoisonError::into_inner);
            for _ in 0..lane::CARRIERS {
                let (lane, inner) = (Arc::clone(&lane), Arc::clone(&self.inner));
                let carrier = Carrier { inner, shard };
                carriers.spawn_on(async move { lane.carry(&carrier).await }, &self.runtime);
            }
            lane
        }))
    }

    async fn decide(
        &self,
        charges: &[Charge<'_>],
        now: Timestamp,
        begun: Instant,
    ) -> Result<Decisions, StoreError> {
        let Some(first) = charges.first() else {
            return Ok(Decisions {
                charged: true,
                ..Decisions::default()
            });
        };
        let asks: Result<SmallVec<[Ask; 2]>, _> = charges.iter().map(|charge| Ask::of(charge, now)).collect();
        // Policies whose limits cannot be counted are refused when they are read.
        let asks = asks.map_err(|_| StoreError::Unavailable)?;
        let inner = &*self.inner;
        if let Some(denied) = inner
            .denials
            .as_ref()
            .and_then(|denials| denials.find(&asks, now))
        {
            count(&inner.counters.remembered);
            return Ok(denied);
        }
        let era = inner.denials.as_ref().map(|denials| denials.era(&asks));
        let deadline = begun + inner.timeout;
        let parts = split::cut(&asks, inner.hold(first.hold), self.lanes.len() == 1);
        let decisions = match &*parts {
            [part] => {
                let receiver = self.bring(part, deadline)?;
                arrived(receiver, deadline).await?.decisions
            }
            parts => self.decide_in_parts(parts, deadline).await?,
        };
        if let (Some(denials), Some(era)) = (&inner.denials, era) {
            denials.keep(&asks, &decisions, (now, era));
        }
        inner.counters.decided_within(begun.elapsed());
        Ok(decisions)
    }

    /// Asks all at once. If one refuses or fails, what the others spent is given back.
    async fn decide_in_parts(&self, parts: &[Part], deadline: Instant) -> Result<Decisions, StoreError> {
        let receivers: Result<Vec<_>, _> = parts.iter().map(|part| self.bring(part, deadline)).collect();
        // What was brought before one could not be is not sent: nobody waits for it.
        let mut answers = Vec::with_capacity(parts.len());
        for receiver in receivers? {
            answers.push(arrived(receiver, deadline).await);
        }
        let all: Result<Vec<_>, _> = answers.iter().cloned().collect();
        if let Ok(all) = &all
            && all.iter().all(|answer| answer.decisions.charged)
        {
            return Ok(split::join(parts, all));
        }
        for (part, answer) in parts.iter().zip(&answers) {
            if let Ok(answer) = answer
                && split::has_spent(part, answer)
            {
                let (spent, at, shard) = (split::spent(part, answer), answer.at, part.shard);
                self.inner.afterwards(move |inner| async move {
                    inner.give_back(shard, &spent, at).await;
                });
            }
        }
        all.map(|all| split::join(parts, &all))
    }
}

impl Store for Redis {
    async fn charge(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decisions, StoreError> {
        let begun = Instant::now();
        self.inner.clock.set(now);
        let decided = self.decide(charges, now, begun).await;
        let counters = &self.inner.counters;
        match &decided {
            Ok(_) => {}
            Err(StoreError::Timeout) => count(&counters.timeouts),
            Err(StoreError::Unavailable) => count(&counters.unavailable),
        }
        decided
    }

    async fn release(&self, key: Key, hold: HoldId, _now: Timestamp) -> Result<(), StoreError> {
        let hold = self.inner.hold(hold);
        self.inner.release(key, hold).await
    }

    async fn refund(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<(), NotRefunded> {
        self.inner.clock.set(now);
        let asks: Result<SmallVec<[Ask; 2]>, _> =
            charges.iter().map(|charge| Ask::refunding(charge, now)).collect();
        let Ok(asks) = asks else {
            // Policies whose limits cannot be counted are refused when they are read.
            return Err(NotRefunded {
                error: StoreError::Unavailable,
                untouched: (0..charges.len()).collect(),
            });
        };
        let mut parts = split::cut(&asks, self.inner.hold(HoldId::default()), self.lanes.len() == 1);
        parts.retain(|part| part.asked.asks.iter().any(|ask| ask.cost > 0));
        refund::all(&self.inner, parts, Instant::now() + self.inner.timeout).await
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("servers", &self.inner.servers)
            .finish_non_exhaustive()
    }
}

/// An answer, or that it did not come in time.
async fn arrived(receiver: Receiver<Answered>, deadline: Instant) -> Result<Answered, StoreError> {
    match timeout_at(deadline, receiver).await {
        Ok(Ok(answer)) => answer,
        // Given up in the queue, or still under way.
        Ok(Err(_)) | Err(_) => Err(StoreError::Timeout),
    }
}

/// Carries the requests of one shard, or of all where all is on one server.
struct Carrier {
    inner: Arc<Inner>,
    shard: u8,
}

impl lane::Destination<Asked, Answered> for Carrier {
    async fn call(&self, requests: &[Asked], deadline: Instant) -> Result<Vec<Answered>, StoreError> {
        let inner = &self.inner;
        count(&inner.counters.calls);
        let asked: Vec<&Asked> = requests.iter().collect();
        let call = Call::charging(&inner.prefix, self.shard, &asked);
        let answer = inner
            .call(self.shard, inner.programs.charge(call.kinds), &call, deadline)
            .await
            .map_err(|fault| StoreError::from(&fault))?;
        let (at, answers) = call.answers(&answer).map_err(|_| StoreError::Unavailable)?;
        let each = answers
            .into_iter()
            .map(|answer| answer.map(|decisions| Answered { at, decisions }));
        each.collect::<Option<_>>().ok_or(StoreError::Unavailable)
    }

    /// A slot that was taken for nobody comes back. What else was spent stays spent: whoever asked may have let the request pass.
    fn unclaimed(&self, request: &Asked, answer: Answered) {
        if !answer.decisions.charged {
            return;
        }
        for ask in &request.asks {
            if ask.limit.kind() == Kind::Slots {
                let (key, hold) = (ask.key, request.hold);
                self.inner.afterwards(move |inner| async move {
                    // The slot's own time to live is what remains if this fails.
                    let _ = inner.release(key, hold).await;
                });
            }
        }
    }
}

impl Clock {
    #[cfg_attr(
        not(feature = "conformance"),
        allow(unused_variables, reason = "only a caller's clock is set")
    )]
    fn set(&self, now: Timestamp) {
        match self {
            Self::Store => {}
            #[cfg(feature = "conformance")]
            // Paired with `now_us`, by way of the lane's lock.
            Self::Caller(micros) => micros.store(now.as_nanos() / 1_000, Ordering::Relaxed),
        }
    }

    fn now_us(&self) -> Option<u64> {
        match self {
            Self::Store => None,
            #[cfg(feature = "conformance")]
            Self::Caller(micros) => Some(micros.load(Ordering::Relaxed)),
        }
    }
}

impl Inner {
    async fn call(
        &self,
        shard: u8,
        program: &Program,
        call: &Call,
        deadline: Instant,
    ) -> Result<Vec<i64>, Fault> {
        let question = Question {
            program,
            keys: &call.keys,
            argument: &call.plan,
            then: Then::Replication {
                now_us: self.clock.now_us(),
            },
        };
        self.servers.call(shard, question, deadline).await
    }

    async fn give_back(&self, shard: u8, spent: &Asked, at: call::StoreTime) {
        let call = Call::giving_back(&self.prefix, shard, spent, at);
        let deadline = Instant::now() + self.timeout;
        // If this fails, tokens are lost, and none are made.
        let _ = self
            .call(shard, self.programs.give_back(call.kinds), &call, deadline)
            .await;
        self.was_given_back(spent);
    }

    /// What was refused before may pass now.
    fn was_given_back(&self, asked: &Asked) {
        if let Some(denials) = &self.denials {
            asked.asks.iter().for_each(|ask| denials.was_given_back(ask.key));
        }
    }

    async fn release(&self, key: Key, hold: [u8; 16]) -> Result<(), StoreError> {
        let keys = [name::counter(&self.prefix, key, Kind::Slots)];
        let question = Question {
            program: self.programs.release(),
            keys: &keys,
            argument: &hold,
            then: Then::Nothing,
        };
        let deadline = Instant::now() + self.timeout;
        let answer = self.servers.call(key.shard(), question, deadline).await;
        answer.map(drop).map_err(|fault| StoreError::from(&fault))
    }

    /// Does something that nobody waits for.
    fn afterwards<F>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut afterwards = self.afterwards.lock().unwrap_or_else(PoisonError::into_inner);
        while afterwards.try_join_next().is_some() {}
        if afterwards.len() < MAX_AFTERWARDS {
            afterwards.spawn_on(work(Arc::clone(self)), &self.runtime);
        }
    }

    fn hold(&self, hold: HoldId) -> [u8; 16] {
        let mut name = [0; 16];
        let (instance, request) = name.split_at_mut(8);
        instance.copy_from_slice(&self.instance.to_be_bytes());
        request.copy_from_slice(&hold.0.to_be_bytes());
        name
    }
}

/// Things that are done at one time without anybody waiting for them. What comes on top is not done: tokens are lost, or a slot comes
/// back when its time is over.
const MAX_AFTERWARDS: usize = 1024;

/// Nothing hangs on the order of figures.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
