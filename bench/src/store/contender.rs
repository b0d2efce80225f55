//! Who is asked. limitador is there as its release 0.6: from 0.7 to 0.14 its Redis storage does not compile without that for disks,
//! which builds RocksDB.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use limitador_redis::AsyncRateLimiter;
use limitador_redis::storage::redis::AsyncRedisStorage;
use redis::aio::MultiplexedConnection;
use tidegate_core::{Charge, Cost, HoldId, KeyHasher, Limit, Mode, Rate, Timestamp};
use tidegate_store::Store as _;
use tidegate_store::redis::{Address, Redis, Servers, Settings};
use tokio::runtime::Handle;

/// Which contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// PING, the least that a round trip costs
    Ping,
    /// Tidegate's token bucket
    TidegateBucket,
    /// Token bucket by HMGET and HSET in Lua, as widely copied
    HashBucket,
    /// The same, with a connection for each that asks at one time
    HashBucketEach,
    /// GCRA by GET and SET in Lua
    Gcra,
    /// The same, with a connection for each that asks at one time
    GcraEach,
    /// The module redis-cell
    Cell,
    /// The same, with a connection for each that asks at one time
    CellEach,
    /// limitador's Redis storage, a fixed window
    Limitador,
    /// Tidegate's sliding window log
    TidegateLog,
    /// Sliding log in a sorted set
    SortedSetLog,
    /// The same, with a connection for each that asks at one time
    SortedSetLogEach,
}

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Ping,
        Self::TidegateBucket,
        Self::HashBucket,
        Self::HashBucketEach,
        Self::Gcra,
        Self::GcraEach,
        Self::Cell,
        Self::CellEach,
        Self::Limitador,
        Self::TidegateLog,
        Self::SortedSetLog,
        Self::SortedSetLogEach,
    ];

    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ping => "PING",
            Self::TidegateBucket => "tidegate token bucket",
            Self::HashBucket => "token bucket, HMGET + HSET",
            Self::HashBucketEach => "... a connection each",
            Self::Gcra => "GCRA, GET + SET",
            Self::GcraEach => "... a connection each",
            Self::Cell => "redis-cell",
            Self::CellEach => "... a connection each",
            Self::Limitador => "limitador 0.6, its Redis storage",
            Self::TidegateLog => "tidegate sliding log",
            Self::SortedSetLog => "sliding log, sorted set",
            Self::SortedSetLogEach => "... a connection each",
        }
    }

    /// Whether it needs the module.
    pub(crate) const fn is_cell(self) -> bool {
        matches!(self, Self::Cell | Self::CellEach)
    }

    /// Over how many connections so many ask.
    const fn connections(self, concurrency: usize) -> usize {
        match self {
            Self::HashBucketEach | Self::GcraEach | Self::CellEach | Self::SortedSetLogEach => concurrency,
            _ => 1,
        }
    }
}

/// A contender that is connected. All allow the same: ten million at once and one in a second, so that state is worth keeping; but the
/// logs hold ten in a second: such are the limits that logs are used for.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Contender {
    Tidegate {
        store: Redis,
        limit: Limit,
        keys: KeyHasher,
    },
    Limitador(AsyncRateLimiter),
    Command(Command),
}

/// What is asked by a command of the server.
pub(crate) struct Command {
    /// The tasks share them in turn.
    connections: Vec<MultiplexedConnection>,
    /// What comes before the key, and whether there is one.
    before: Vec<String>,
    has_key: bool,
    after: Vec<String>,
    /// Calls so far: the last argument, where a script wants something unique.
    unique: Cell<u64>,
}

/// How long anybody waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the buckets hold, and get back in a second.
const CAPACITY: u64 = 10_000_000;
const PER_SECOND: u64 = 1;
/// What the logs hold in a second.
const LOG: u64 = 10;
/// Where limitador keeps its limit.
const NAMESPACE: &str = "bench";

impl Contender {
    /// Connects to the server on `port`, for so many that ask at one time.
    pub(crate) async fn connect(kind: Kind, port: u16, concurrency: usize) -> anyhow::Result<Self> {
        let second = Duration::from_secs(1);
        let rate = |quota| Rate::new(quota, second);
        let (script, arguments) = match kind {
            Kind::TidegateBucket => {
                return Self::tidegate(port, Limit::token_bucket(rate(PER_SECOND)?, CAPACITY)?).await;
            }
            Kind::TidegateLog => {
                return Self::tidegate(port, Limit::sliding_window_log(rate(LOG)?)?).await;
            }
            Kind::Limitador => return Self::limitador(port).await,
            Kind::Ping => (None, vec![]),
            Kind::Cell | Kind::CellEach => (None, vec![CAPACITY, PER_SECOND, 1, 1]),
            Kind::HashBucket | Kind::HashBucketEach => {
                let text = include_str!("hash_bucket.lua");
                (Some(text), vec![CAPACITY, PER_SECOND, 1])
            }
            Kind::Gcra | Kind::GcraEach => {
                let interval = 1_000_000 / PER_SECOND;
                let text = include_str!("gcra.lua");
                (Some(text), vec![interval, CAPACITY * interval, interval])
            }
            Kind::SortedSetLog | Kind::SortedSetLogEach => {
                let text = include_str!("sorted_set_log.lua");
                (Some(text), vec![LOG, 1_000_000])
            }
        };
        let connections = connections(port, kind.connections(concurrency)).await?;
        let before = match (script, connections.first()) {
            (Some(text), Some(first)) => {
                let load = redis::cmd("SCRIPT").arg("LOAD").arg(text).to_owned();
                let sha1 = load.query_async(&mut first.clone()).await?;
                vec!["EVALSHA".to_owned(), sha1, "1".to_owned()]
            }
            _ if kind == Kind::Ping => vec!["PING".to_owned()],
            _ => vec!["CL.THROTTLE".to_owned()],
        };
        Ok(Self::Command(Command {
            connections,
            before,
            has_key: kind != Kind::Ping,
            after: arguments.iter().map(u64::to_string).collect(),
            unique: Cell::new(0),
        }))
    }

    async fn limitador(port: u16) -> anyhow::Result<Self> {
        let storage = AsyncRedisStorage::new(&format!("redis://127.0.0.1:{port}")).await?;
        let limiter = AsyncRateLimiter::new_with_storage(Box::new(storage));
        let no_conditions: [&str; 0] = [];
        let most = i64::try_from(CAPACITY)?;
        limiter.add_limit(limitador_redis::limit::Limit::new(
            NAMESPACE,
            most,
            1,
            no_conditions,
            ["key"],
        ));
        Ok(Self::Limitador(limiter))
    }

    async fn tidegate(port: u16, limit: Limit) -> anyhow::Result<Self> {
        let settings = Settings {
            timeout: PATIENCE,
            ..Settings::new(Servers::Single(Address::new("127.0.0.1", port)))
        };
        let contender = Self::Tidegate {
            store: Redis::new(&settings, Handle::current())?,
            limit,
            keys: KeyHasher::shared(None),
        };
        // It connects beside this.
        let begun = std::time::Instant::now();
        while contender.decide(0, 0).await.is_err() {
            anyhow::ensure!(begun.elapsed() < Duration::from_secs(5), "no connection");
            tokio::task::yield_now().await;
        }
        Ok(contender)
    }

    /// Asks for one unit of `key`, as one of those who ask.
    pub(crate) async fn decide(&self, task: usize, key: u64) -> anyhow::Result<()> {
        match self {
            Self::Tidegate { store, limit, keys } => {
                let mut name = keys.start();
                name.part(format!("key:{key}").as_bytes());
                let charge = Charge {
                    key: name.finish(),
                    limit,
                    cost: Cost::ONE,
                    mode: Mode::Enforce,
                    hold: HoldId(0),
                };
                let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
                let now = Timestamp::from_nanos(u64::try_from(now)?);
                store.charge(&[charge], now).await.context("the store decides")?;
                Ok(())
            }
            Self::Limitador(limiter) => {
                let values = HashMap::from([("key".to_owned(), format!("key:{key}"))]);
                let namespace = NAMESPACE.into();
                let asked = limiter.check_rate_limited_and_update(&namespace, &values, 1, false);
                asked.await?;
                Ok(())
            }
            Self::Command(command) => command.call(task, key).await,
        }
    }
}

impl Command {
    async fn call(&self, task: usize, key: u64) -> anyhow::Result<()> {
        self.unique.set(self.unique.get() + 1);
        let mut call = redis::Cmd::new();
        call.arg(&self.before);
        if self.has_key {
            call.arg(format!("key:{key}")).arg(&self.after);
        }
        if self.before.len() > 1 {
            call.arg(self.unique.get());
        }
        let place = task % self.connections.len().max(1);
        let connection = self.connections.get(place).context("a connection")?;
        call.query_async::<redis::Value>(&mut connection.clone()).await?;
        Ok(())
    }
}

async fn connections(port: u16, count: usize) -> anyhow::Result<Vec<MultiplexedConnection>> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connections = Vec::new();
    for _ in 0..count {
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        connections.push(
            client
                .get_multiplexed_async_connection_with_config(&patient)
                .await?,
        );
    }
    Ok(connections)
}
