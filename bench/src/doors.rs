//! What a decision costs through a door: Tidegate, throttlecrab-server and redis-cell in turn, on the same core.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use tokio::runtime::Builder;

use crate::gateway::{Process, cpu_nanos};
use crate::machine;
use crate::report::{Table, figure};
use crate::stats::{paired_ratio, summary};

mod case;
mod grpc;
mod server;
mod stream;

use case::{Asked, Case, Kind};
use server::Servers;

/// How to measure doors.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One short round: enough to see that it works, not enough to quote
    #[arg(long)]
    quick: bool,
    /// How often each candidate has its turn in each case [default: 5, quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Different keys that are asked for
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100_000])]
    keys: Vec<u64>,
    /// Only these cases
    #[arg(long, value_enum, value_delimiter = ',')]
    cases: Vec<Case>,
    /// The Tidegate to measure [default: target/release/tidegate of this repository]
    #[arg(long)]
    tidegate: Option<PathBuf>,
}

/// The core of everything that asks; what is asked has core 0.
const CLIENT_CORE: usize = 1;

/// What one turn showed.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// Answers: one to a call of ten descriptors is one.
    per_second: f64,
    /// CPU time of the server for each answer.
    cpu_us: f64,
    median_us: f64,
    slow_us: f64,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("a folder for configurations")?;
    let built = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/tidegate");
    let tidegate = options.tidegate.clone().unwrap_or_else(built);
    let servers = Servers::start(&tidegate, folder.path())?;
    machine::print();
    machine::pin(CLIENT_CORE);
    let (rounds, lasts) = if options.quick {
        (1, Duration::from_millis(300))
    } else {
        (5, Duration::from_secs(2))
    };
    let rounds = options.rounds.unwrap_or(rounds);
    for case in Case::value_variants() {
        if !options.cases.is_empty() && !options.cases.contains(case) {
            continue;
        }
        let kinds: Vec<Kind> = case
            .kinds()
            .into_iter()
            .filter(|kind| servers.has(*kind))
            .collect();
        for &keys in &options.keys {
            let mut turns: Vec<Vec<Turn>> = kinds.iter().map(|_| Vec::new()).collect();
            for round in 0..=rounds {
                eprintln!("{}, {keys} keys, round {round}", case.name());
                for (&kind, turns) in kinds.iter().zip(&mut turns) {
                    let turn = turn(&servers, case.asked(kind), keys, lasts)
                        .with_context(|| format!("{}, {}", kind.name(), case.name()))?;
                    // The first fills what fills.
                    if round > 0 {
                        turns.push(turn);
                    }
                }
            }
            print(*case, keys, &kinds, &turns);
        }
    }
    Ok(())
}

fn turn(servers: &Servers, asked: Asked, keys: u64, lasts: Duration) -> anyhow::Result<Turn> {
    let server = servers.of(asked)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let before = cpu_of(server);
    let mut told = runtime.block_on(asked.ask(servers.port(asked)?, keys, lasts))?;
    let spent = cpu_of(server).saturating_sub(before);
    told.nanos.sort_unstable();
    let count = told.nanos.len();
    anyhow::ensure!(count > 0, "nobody was answered");
    let at = |share: usize| f64::from(told.nanos[(count * share / 100).min(count - 1)]) / 1_000.0;
    Ok(Turn {
        per_second: count as f64 / told.took.as_secs_f64(),
        cpu_us: spent as f64 / 1_000.0 / count as f64,
        median_us: at(50),
        slow_us: at(99),
    })
}

/// What everybody who asked was told.
#[derive(Default)]
pub(crate) struct Told {
    /// How long each answer took.
    pub(crate) nanos: Vec<u32>,
    pub(crate) took: Duration,
}

fn cpu_of(server: &Process) -> u64 {
    cpu_nanos(server.id())
}

fn print(case: Case, keys: u64, kinds: &[Kind], turns: &[Vec<Turn>]) {
    let mut table = Table::new([
        "",
        "answers/s",
        "beside tidegate",
        "server CPU µs",
        "p50 µs",
        "p99 µs",
    ]);
    let rounds = |turns: &[Turn], of: fn(&Turn) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
    let ours = turns.first().map(|turns| rounds(turns, |turn| turn.per_second));
    for (kind, turns) in kinds.iter().zip(turns) {
        let median =
            |of: fn(&Turn) -> f64| summary(&rounds(turns, of)).map_or(f64::NAN, |summary| summary.median);
        let own = rounds(turns, |turn| turn.per_second);
        let ratio = ours.as_deref().and_then(|ours| paired_ratio(&own, ours));
        table.row([
            kind.name().to_owned(),
            figure(median(|turn| turn.per_second)),
            figure(ratio.unwrap_or(f64::NAN)),
            figure(median(|turn| turn.cpu_us)),
            figure(median(|turn| turn.median_us)),
            figure(median(|turn| turn.slow_us)),
        ]);
    }
    table.print(&format!("{}, {keys} keys", case.name()));
}
