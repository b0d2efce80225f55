//! What a decision costs where the counters are in Redis: Tidegate beside the scripts that people copy.
//!
//! One Redis on one core, everything that asks on another. The figure that noise spares is the server's CPU time per decision; what
//! it can decide per second is its inverse.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::runtime::Runtime;

use crate::gateway::{Process, free_ports, install};
use crate::machine;
use crate::report::{Table, figure};
use crate::stats::summary;

mod contender;

use contender::{Contender, Kind};

/// How to measure decisions in a shared store.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One short round: enough to see that it works, not enough to quote
    #[arg(long)]
    quick: bool,
    /// How often each contender has its turn [default: 5, quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Requests that ask at one time
    #[arg(long, value_delimiter = ',', default_values_t = [1, 50, 256])]
    concurrency: Vec<usize>,
    /// Different keys that they ask for
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100_000])]
    keys: Vec<u64>,
    /// Only these contenders
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
}

impl Options {
    fn kinds(&self) -> Vec<Kind> {
        let wanted = |kind: &Kind| self.only.is_empty() || self.only.contains(kind);
        let (kinds, missing): (Vec<Kind>, Vec<Kind>) = Kind::ALL
            .into_iter()
            .filter(wanted)
            .partition(|kind| !kind.is_cell() || Path::new(CELL).exists());
        if !missing.is_empty() {
            eprintln!("without redis-cell: there is no {CELL}");
        }
        kinds
    }
}

/// The module, as `cargo xtask bench store` builds it.
const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/release/libredis_cell.so");

/// The cores: the server has one, everything that asks the other.
const SERVER_CORE: u8 = 0;
const CLIENT_CORE: usize = 1;
/// Tasks that fill the server before a turn.
const FILLERS: u64 = 256;

/// What one turn showed.
struct Turn {
    per_second: f64,
    server_us: f64,
    median_us: f64,
    slow_us: f64,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    install(&["redis-server"])?;
    let folder = tempfile::tempdir().context("a folder for the server")?;
    let [port] = free_ports()?;
    let kinds = options.kinds();
    let _server = start(port, folder.path(), &kinds)?;
    machine::print();
    machine::pin(CLIENT_CORE);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (rounds, millis) = if options.quick { (1, 300) } else { (5, 1_500) };
    for &concurrency in &options.concurrency {
        for &keys in &options.keys {
            let mut turns: Vec<Vec<Turn>> = kinds.iter().map(|_| Vec::new()).collect();
            for round in 0..options.rounds.unwrap_or(rounds) {
                eprintln!("{concurrency} at a time, {keys} keys, round {round}");
                for (&kind, turns) in kinds.iter().zip(&mut turns) {
                    let load = Load {
                        concurrency,
                        keys,
                        lasts: Duration::from_millis(millis),
                    };
                    turns.push(load.turn(&runtime, kind, port)?);
                }
            }
            print(concurrency, keys, &kinds, &turns);
        }
    }
    Ok(())
}

fn start(port: u16, folder: &Path, kinds: &[Kind]) -> anyhow::Result<Process> {
    let port_text = port.to_string();
    let mut arguments = vec!["--port", &port_text, "--save", "", "--appendonly", "no"];
    if kinds.iter().any(|kind| kind.is_cell()) {
        arguments.extend(["--loadmodule", CELL]);
    }
    let mut server = Process::start(SERVER_CORE, Path::new("/usr/bin/redis-server"), arguments, folder)?;
    server.listens_on(port)?;
    Ok(server)
}

/// What is asked of a contender.
#[derive(Clone, Copy)]
struct Load {
    concurrency: usize,
    keys: u64,
    lasts: Duration,
}

impl Load {
    fn turn(self, runtime: &Runtime, kind: Kind, port: u16) -> anyhow::Result<Turn> {
        runtime.block_on(async {
            let contender = Rc::new(Contender::connect(kind, port, self.concurrency).await?);
            let mut asks = redis::Client::open(format!("redis://127.0.0.1:{port}"))?
                .get_multiplexed_async_connection()
                .await?;
            redis::cmd("FLUSHALL").query_async::<()>(&mut asks).await?;
            // The first calls load scripts and make connections. Then all keys are there, as they are in use.
            contender.decide(0, 0).await?;
            self.fill(&contender).await?;
            let before = server_cpu(&mut asks).await?;
            let begun = Instant::now();
            let local = tokio::task::LocalSet::new();
            let tasks: Vec<_> = (0..self.concurrency)
                .map(|task| {
                    let contender = contender.clone();
                    local.spawn_local(async move { self.ask(&contender, task, begun).await })
                })
                .collect();
            let mut latencies = Vec::new();
            local
                .run_until(async {
                    for task in tasks {
                        latencies.extend(task.await??);
                    }
                    anyhow::Ok(())
                })
                .await?;
            let took = begun.elapsed();
            let spent = server_cpu(&mut asks).await? - before;
            latencies.sort_unstable();
            let count = latencies.len();
            let at =
                |share: usize| f64::from(latencies.get(count * share / 100).copied().unwrap_or(0)) / 1_000.0;
            Ok(Turn {
                per_second: count as f64 / took.as_secs_f64(),
                server_us: spent * 1e6 / count as f64,
                median_us: at(50),
                slow_us: at(99),
            })
        })
    }

    /// Asks once for each key, many at one time over one connection.
    async fn fill(self, contender: &Rc<Contender>) -> anyhow::Result<()> {
        let local = tokio::task::LocalSet::new();
        let tasks: Vec<_> = (0..FILLERS)
            .map(|first| {
                let (contender, keys) = (Rc::clone(contender), self.keys);
                local.spawn_local(async move {
                    for key in (first..keys).step_by(FILLERS as usize) {
                        contender.decide(0, key).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        local
            .run_until(async {
                for task in tasks {
                    task.await??;
                }
                anyhow::Ok(())
            })
            .await
    }

    /// One of those who ask: again and again, each time another key. How long each took, in nanoseconds.
    async fn ask(self, contender: &Contender, task: usize, begun: Instant) -> anyhow::Result<Vec<u32>> {
        let mut latencies = Vec::new();
        let mut draw = (task as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut asked = begun;
        while asked.duration_since(begun) < self.lasts {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            contender.decide(task, draw % self.keys).await?;
            let now = Instant::now();
            latencies.push(u32::try_from(now.duration_since(asked).as_nanos()).unwrap_or(u32::MAX));
            asked = now;
        }
        Ok(latencies)
    }
}

/// The server's CPU time so far, in seconds.
async fn server_cpu(asks: &mut redis::aio::MultiplexedConnection) -> anyhow::Result<f64> {
    let info: String = redis::cmd("INFO").arg("cpu").query_async(asks).await?;
    let seconds = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse::<f64>().ok())
    };
    seconds("used_cpu_user:")
        .zip(seconds("used_cpu_sys:"))
        .map(|(user, system)| user + system)
        .context("the server tells its CPU time")
}

fn print(concurrency: usize, keys: u64, kinds: &[Kind], turns: &[Vec<Turn>]) {
    let mut table = Table::new(["", "decisions/s", "server CPU µs", "p50 µs", "p99 µs"]);
    for (kind, turns) in kinds.iter().zip(turns) {
        let median = |of: fn(&Turn) -> f64| {
            let rounds: Vec<f64> = turns.iter().map(of).collect();
            summary(&rounds).map_or(f64::NAN, |summary| summary.median)
        };
        table.row([
            kind.name().to_owned(),
            figure(median(|turn| turn.per_second)),
            figure(median(|turn| turn.server_us)),
            figure(median(|turn| turn.median_us)),
            figure(median(|turn| turn.slow_us)),
        ]);
    }
    table.print(&format!("{concurrency} at a time, {keys} keys"));
}
