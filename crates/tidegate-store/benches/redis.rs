//! What a decision in a shared store costs: one alone against PING over the same kind of connection, and many at one time.
//!
//! On one machine with the server, so the round trip is as short as it gets. Compare figures of one run only.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a bench")]

use core::time::Duration;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use tidegate_core::{Charge, Cost, HoldId, Key, Limit, Mode, Rate, Timestamp};
use tidegate_store::redis::{Address, Servers, Settings};
use tidegate_store::{Redis, Store as _};
use tidegate_test_servers::{Server, Watch};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;

/// Counters that requests are spread over.
const KEYS: u64 = 100_000;
/// Each figure is taken so often; the one in the middle counts.
const ROUNDS: usize = 5;
/// How long one round takes.
const ROUND: Duration = Duration::from_millis(1000);
const WORKLOADS: [usize; 5] = [1, 8, 64, 256, 1024];

fn main() {
    let server = Server::redis();
    // As a worker of the gateway has it: all tasks on one thread.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let address = Address::new("127.0.0.1", server.port());
        let settings = Settings {
            timeout: Duration::from_secs(1),
            ..Settings::new(Servers::Single(address))
        };
        let redis = Arc::new(Redis::new(&settings, Handle::current()).expect("sound settings"));
        while !redis.figures().servers.iter().all(|server| server.connected) {
            tokio::task::yield_now().await;
        }
        let client = redis::Client::open(server.url()).expect("an address");
        let connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("a connection");

        let limit = Arc::new(limit());
        let mut pairs: Vec<(Duration, Duration)> = Vec::new();
        for _ in 0..ROUNDS {
            let ping = alone(|_| ping(connection.clone())).await;
            let charge = alone(|number| charge(Arc::clone(&redis), Arc::clone(&limit), number)).await;
            pairs.push((ping, charge));
        }
        pairs.sort_by_key(|(ping, charge)| charge.as_nanos() * 1000 / ping.as_nanos().max(1));
        let (ping, charge) = pairs[ROUNDS / 2];
        println!(
            "alone: PING {ping:?}, a decision {charge:?} (p50), {:.2} times",
            charge.as_secs_f64() / ping.as_secs_f64()
        );
        for at_once in WORKLOADS {
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                rounds.push(many(&redis, &limit, at_once).await);
            }
            rounds.sort_by_key(|round| round.rate);
            let Round {
                rate,
                p50,
                p99,
                share,
            } = rounds[ROUNDS / 2];
            println!(
                "{at_once:>5} at once: {rate:>7} decisions/s, p50 {p50:?}, p99 {p99:?}, {share:.1} in a call"
            );
        }
    });
}

struct Round {
    rate: u64,
    p50: Duration,
    p99: Duration,
    /// Requests in a call.
    share: f64,
}

/// The median of one after the other.
async fn alone<F: Future<Output = ()>>(mut act: impl FnMut(u64) -> F) -> Duration {
    let whole = Watch::start();
    let mut times = Vec::new();
    let mut number = 0;
    while whole.elapsed() < ROUND {
        number += 1;
        let watch = Watch::start();
        act(number).await;
        times.push(watch.elapsed());
    }
    percentile(&mut times, 50)
}

async fn many(redis: &Arc<Redis>, limit: &Arc<Limit>, at_once: usize) -> Round {
    let before = redis.figures();
    let whole = Watch::start();
    let mut askers = JoinSet::new();
    for asker in 0..at_once as u64 {
        let (redis, limit) = (Arc::clone(redis), Arc::clone(limit));
        askers.spawn(async move {
            let mut times = Vec::new();
            let mut number = asker;
            while whole.elapsed() < ROUND {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let watch = Watch::start();
                charge(Arc::clone(&redis), Arc::clone(&limit), number >> 33).await;
                times.push(watch.elapsed());
            }
            times
        });
    }
    let mut times = askers.join_all().await.concat();
    let after = redis.figures();
    let decided = after.decided - before.decided;
    Round {
        rate: u64::try_from(u128::from(decided) * 1_000_000_000 / whole.elapsed().as_nanos())
            .unwrap_or(u64::MAX),
        p50: percentile(&mut times, 50),
        p99: percentile(&mut times, 99),
        share: decided as f64 / (after.calls - before.calls).max(1) as f64,
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

async fn ping(mut connection: MultiplexedConnection) {
    let _: String = redis::cmd("PING")
        .query_async(&mut connection)
        .await
        .expect("an answer");
}

async fn charge(redis: Arc<Redis>, limit: Arc<Limit>, number: u64) {
    let charge = Charge {
        key: Key::in_shard(u128::from(number % KEYS) << 8, 0),
        limit: &limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(0),
    };
    redis
        .charge(&[charge], Timestamp::EPOCH)
        .await
        .expect("a decision");
}

fn limit() -> Limit {
    let rate = Rate::new(1000, Duration::from_secs(1)).expect("a legal rate");
    Limit::token_bucket(rate, 1_000_000).expect("a legal limit")
}
