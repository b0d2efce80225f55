//! What a request costs through the proxy: Tidegate, nginx and HAProxy in turn, on the same core, before the same origin.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::machine;

mod candidate;
mod case;
mod load;
mod process;
mod tables;
mod tools;

pub(crate) use candidate::Origin;
use candidate::{Candidate, Kind};
use case::Case;
use load::Answers;
pub(crate) use load::Load;
pub(crate) use process::{Process, cpu_nanos, free_ports};
pub(crate) use tools::install;

/// How to measure the gateway.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// One short round: enough to see that it works, not enough to quote
    #[arg(long)]
    quick: bool,
    /// How often each proxy has its turn in each case [default: 5, quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// How long a turn lasts, in seconds [default: 3, quick 1]
    #[arg(long)]
    turn_s: Option<u64>,
    /// Connections that the client keeps open
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Only these proxies
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only these cases
    #[arg(long, value_enum, value_delimiter = ',')]
    cases: Vec<Case>,
    /// The Tidegate to measure [default: target/release/tidegate of this repository]
    #[arg(long)]
    tidegate: Option<PathBuf>,
}

impl Options {
    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 5 })
    }

    fn turn_s(&self) -> u64 {
        self.turn_s.unwrap_or(if self.quick { 1 } else { 3 })
    }

    fn kinds(&self) -> Vec<Kind> {
        if self.only.is_empty() {
            Kind::ALL.to_vec()
        } else {
            self.only.clone()
        }
    }

    fn cases(&self) -> Vec<Case> {
        if self.cases.is_empty() {
            Case::ALL.to_vec()
        } else {
            self.cases.clone()
        }
    }

    fn tidegate(&self) -> PathBuf {
        let built = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/tidegate");
        self.tidegate.clone().unwrap_or_else(built)
    }
}

/// One proxy's turns in one case.
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) case: Case,
    pub(crate) rounds: Vec<Round>,
}

/// One turn.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) answers: Answers,
    /// CPU time of the proxy per request, kernel and user.
    pub(crate) cpu_us: f64,
    /// The share of its core that the proxy used.
    pub(crate) busy: f64,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    tools::ready(&options.kinds())?;
    let folder = tempfile::tempdir().context("a folder for configurations")?;
    let origin = Origin::start(folder.path())?;
    let candidates = options
        .kinds()
        .into_iter()
        .map(|kind| Candidate::start(kind, &origin, &options.tidegate(), folder.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    machine::print();
    println!(
        "{} rounds of {} s each, proxies taking turns on core 0, wrk with {} connections and the origin on core 1",
        options.rounds(),
        options.turn_s(),
        options.connections
    );
    let load = Load::new(folder.path(), options.connections)?;
    let mut measured = warm_up(&candidates, &options.cases(), &load)?;
    for round in 1..=options.rounds() {
        eprintln!("round {round}");
        for measured in &mut measured {
            let candidate = candidates
                .iter()
                .find(|candidate| candidate.kind == measured.kind);
            let candidate = candidate.context("a case without its proxy")?;
            measured
                .rounds
                .push(turn(candidate, measured.case, &load, options.turn_s())?);
        }
    }
    tables::print(&options.kinds(), &options.cases(), &measured);
    Ok(())
}

/// Fills what fills, opens the connections to the origin, and makes the empty list of what is to be measured.
fn warm_up(candidates: &[Candidate], cases: &[Case], load: &Load) -> anyhow::Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for &case in cases {
        for candidate in candidates {
            eprintln!("warming up {}, {}", candidate.kind.name(), case.name());
            turn(candidate, case, load, if case.keys() > 0 { 3 } else { 1 })?;
            measured.push(Measured {
                kind: candidate.kind,
                case,
                rounds: Vec::new(),
            });
        }
    }
    Ok(measured)
}

fn turn(candidate: &Candidate, case: Case, load: &Load, secs: u64) -> anyhow::Result<Round> {
    let target = candidate.target(case)?;
    let before = process::cpu_nanos(target.pid);
    let answers = load.run(target.port, case, secs)?;
    let spent = process::cpu_nanos(target.pid).saturating_sub(before) as f64;
    case.check(&answers)
        .with_context(|| format!("{}, {}", candidate.kind.name(), case.name()))?;
    Ok(Round {
        answers,
        cpu_us: spent / 1000.0 / answers.requests,
        busy: spent / 1e9 / answers.secs,
    })
}
