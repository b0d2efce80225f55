//! Who is asked. limitador's Redis storage is not among them: in its release 0.14 it cannot be built without that for disks.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
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
    /// GCRA by GET and SET in Lua
    Gcra,
    /// Tidegate's sliding window log
    TidegateLog,
    /// Sliding log in a sorted set
    SortedSetLog,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Ping,
        Self::TidegateBucket,
        Self::HashBucket,
        Self::Gcra,
        Self::TidegateLog,
        Self::SortedSetLog,
    ];

    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ping => "PING",
            Self::TidegateBucket => "tidegate token bucket",
            Self::HashBucket => "token bucket, HMGET + HSET",
            Self::Gcra => "GCRA, GET + SET",
            Self::TidegateLog => "tidegate sliding log",
            Self::SortedSetLog => "sliding log, sorted set",
        }
    }
}

/// A contender that is connected. All allow the same, a million at once and in a second, except the logs, which hold ten in a second:
/// such are the limits that logs are used for.
pub(crate) enum Contender {
    Ping(MultiplexedConnection),
    Tidegate {
        store: Redis,
        limit: Limit,
        keys: KeyHasher,
    },
    Script {
        connection: MultiplexedConnection,
        sha1: String,
        arguments: Vec<String>,
        unique: Cell<u64>,
    },
}

/// What the buckets hold, and get back in a second.
const CAPACITY: u64 = 1_000_000;
/// What the logs hold in a second.
const LOG: u64 = 10;

impl Contender {
    /// Connects to the server on `port`.
    pub(crate) async fn connect(kind: Kind, port: u16) -> anyhow::Result<Self> {
        let url = format!("redis://127.0.0.1:{port}");
        let second = Duration::from_secs(1);
        let rate = |quota| Rate::new(quota, second);
        Ok(match kind {
            Kind::Ping => Self::Ping(connection(&url).await?),
            Kind::TidegateBucket => {
                Self::tidegate(port, Limit::token_bucket(rate(CAPACITY)?, CAPACITY)?).await?
            }
            Kind::TidegateLog => Self::tidegate(port, Limit::sliding_window_log(rate(LOG)?)?).await?,
            Kind::HashBucket => {
                let arguments = [CAPACITY, CAPACITY, 1].map(|number| number.to_string());
                Self::script(&url, include_str!("hash_bucket.lua"), &arguments).await?
            }
            Kind::Gcra => {
                let arguments = [1, 1_000_000, 1].map(|number| number.to_string());
                Self::script(&url, include_str!("gcra.lua"), &arguments).await?
            }
            Kind::SortedSetLog => {
                let arguments = [LOG, 1_000_000].map(|number| number.to_string());
                Self::script(&url, include_str!("sorted_set_log.lua"), &arguments).await?
            }
        })
    }

    async fn tidegate(port: u16, limit: Limit) -> anyhow::Result<Self> {
        let settings = Settings {
            timeout: Duration::from_secs(10),
            ..Settings::new(Servers::Single(Address::new("127.0.0.1", port)))
        };
        let contender = Self::Tidegate {
            store: Redis::new(&settings, Handle::current())?,
            limit,
            keys: KeyHasher::shared(None),
        };
        // It connects beside this.
        let begun = std::time::Instant::now();
        while contender.decide(0).await.is_err() {
            anyhow::ensure!(begun.elapsed() < Duration::from_secs(5), "no connection");
            tokio::task::yield_now().await;
        }
        Ok(contender)
    }

    async fn script(url: &str, text: &str, arguments: &[String]) -> anyhow::Result<Self> {
        let mut connection = connection(url).await?;
        let sha1 = redis::cmd("SCRIPT")
            .arg("LOAD")
            .arg(text)
            .query_async(&mut connection)
            .await?;
        Ok(Self::Script {
            connection,
            sha1,
            arguments: arguments.to_vec(),
            unique: Cell::new(0),
        })
    }

    /// Asks for one unit of `key`.
    pub(crate) async fn decide(&self, key: u64) -> anyhow::Result<()> {
        match self {
            Self::Ping(connection) => {
                redis::cmd("PING")
                    .query_async::<()>(&mut connection.clone())
                    .await?
            }
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
            }
            Self::Script {
                connection,
                sha1,
                arguments,
                unique,
            } => {
                unique.set(unique.get() + 1);
                let mut call = redis::cmd("EVALSHA");
                call.arg(sha1)
                    .arg(1)
                    .arg(format!("key:{key}"))
                    .arg(arguments)
                    .arg(unique.get());
                let _: (i64, i64) = call.query_async(&mut connection.clone()).await?;
            }
        }
        Ok(())
    }
}

async fn connection(url: &str) -> anyhow::Result<MultiplexedConnection> {
    Ok(redis::Client::open(url)?
        .get_multiplexed_async_connection()
        .await?)
}
