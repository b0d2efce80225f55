//! What a request pays for each thing that a policy file can ask for: the same gateway with and without it, in turn.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::gateway::{Load, Origin, Process, cpu_nanos, free_ports, install};
use crate::machine;
use crate::report::{Table, figure};
use crate::stats::{paired_ratio, summary};

mod feature;

use feature::{Feature, Files};

/// How to measure features.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One short round: enough to see that it works, not enough to quote
    #[arg(long)]
    quick: bool,
    /// How often each feature has its turn [default: 5, quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Connections that the client keeps open
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Only these features, and what they are compared with
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Feature>,
    /// The Tidegate to measure [default: target/release/tidegate of this repository]
    #[arg(long)]
    tidegate: Option<PathBuf>,
}

/// One gateway under one feature, and what its turns cost.
struct Running {
    feature: Feature,
    process: Process,
    port: u16,
    cpu_us: Vec<f64>,
    per_second: Vec<f64>,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    install(&["wrk", "nginx", "openssl"])?;
    let folder = tempfile::tempdir().context("a folder for configurations")?;
    let files = Files::made(folder.path())?;
    let origin = Origin::start(folder.path())?;
    let built = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/tidegate");
    let tidegate = options.tidegate.clone().unwrap_or_else(built);
    let mut running = features(&options.only)
        .into_iter()
        .map(|feature| start(feature, &tidegate, &origin, &files, folder.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let load = Load::new(folder.path(), options.connections)?;
    let (rounds, secs) = if options.quick { (1, 1) } else { (5, 3) };
    machine::print();
    for round in 0..=options.rounds.unwrap_or(rounds) {
        eprintln!("round {round}, the first of them to warm up");
        for running in &mut running {
            running.turn(&load, &files, secs, round > 0)?;
        }
    }
    print(&running);
    Ok(())
}

/// Those asked for, with what they are compared with; all if none is.
fn features(only: &[Feature]) -> Vec<Feature> {
    let wanted =
        |feature: &Feature| only.contains(feature) || only.iter().any(|other| other.beside() == *feature);
    let all = Feature::ALL.into_iter();
    all.filter(|feature| only.is_empty() || wanted(feature)).collect()
}

fn start(
    feature: Feature,
    tidegate: &Path,
    origin: &Origin,
    files: &Files,
    folder: &Path,
) -> anyhow::Result<Running> {
    let [port] = free_ports()?;
    let file = files.write(feature, port, origin.port())?;
    let tidegate = tidegate
        .canonicalize()
        .context("`cargo build --release` makes the binary")?;
    let arguments = [
        "serve",
        "--log-level",
        "error",
        "--admin",
        "off",
        "--config",
        &file,
    ];
    let mut process = Process::start(0, &tidegate, arguments, folder)?;
    process.listens_on(port)?;
    Ok(Running {
        feature,
        process,
        port,
        cpu_us: Vec::new(),
        per_second: Vec::new(),
    })
}

impl Running {
    fn turn(&mut self, load: &Load, files: &Files, secs: u64, counts: bool) -> anyhow::Result<()> {
        let before = cpu_nanos(self.process.id());
        let url = format!("{}://127.0.0.1:{}/", self.feature.scheme(), self.port);
        let answers = load.ask(&url, &self.feature.request(files), secs)?;
        let spent = cpu_nanos(self.process.id()).saturating_sub(before) as f64;
        anyhow::ensure!(
            answers.requests > 0.0 && answers.refused == 0.0,
            "{}: {} of {} were not 2xx",
            self.feature.name(),
            answers.refused,
            answers.requests
        );
        if counts {
            self.cpu_us.push(spent / 1000.0 / answers.requests);
            self.per_second.push(answers.per_second());
        }
        Ok(())
    }
}

fn print(running: &[Running]) {
    let mut table = Table::new([
        "feature",
        "CPU µs per request",
        "more than",
        "ratio",
        "requests/s",
    ]);
    for one in running {
        let beside = running.iter().find(|other| other.feature == one.feature.beside());
        let ratio = beside.and_then(|other| paired_ratio(&one.cpu_us, &other.cpu_us));
        let median = |rounds: &[f64]| summary(rounds).map_or(f64::NAN, |summary| summary.median);
        table.row([
            one.feature.name().to_owned(),
            figure(median(&one.cpu_us)),
            one.feature.beside().name().to_owned(),
            figure(ratio.unwrap_or(f64::NAN)),
            figure(median(&one.per_second)),
        ]);
    }
    table.print("what features cost, CPU time of the gateway on one core");
}
