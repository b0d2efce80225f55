//! What one decision costs: every limiter in a process of its own, all of them taking turns.

use anyhow::Context as _;

use crate::machine;

pub(crate) mod contender;
mod floors;
mod limiter;
mod seat;
mod tables;
mod workload;

use limiter::Kind;
use seat::Seat;
use workload::{Cell, LOADS, Path};

/// How to measure decisions.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Three short rounds: enough to see that it works, not enough to quote
    #[arg(long)]
    quick: bool,
    /// How often each limiter has its turn in each cell [default: 7, quick 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// How long a turn lasts, in milliseconds [default: 400, quick 100]
    #[arg(long)]
    turn_ms: Option<u64>,
    /// Bytes per key that Tidegate's table gets
    #[arg(long, default_value_t = 24)]
    bytes_per_key: usize,
    /// Only these limiters
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only loads whose name contains this, "1 M" say
    #[arg(long, default_value = "")]
    load: String,
}

impl Options {
    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 3 } else { 7 })
    }

    fn turn_ms(&self) -> u64 {
        self.turn_ms.unwrap_or(if self.quick { 100 } else { 400 })
    }

    fn kinds(&self) -> Vec<Kind> {
        if self.only.is_empty() {
            Kind::ALL.to_vec()
        } else {
            self.only.clone()
        }
    }
}

/// One limiter's turns in one cell.
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    pub(crate) cell: Cell,
    /// Nanoseconds per decision and thread, one per round.
    pub(crate) nanos: Vec<f64>,
    /// The share of decisions that let the request pass.
    pub(crate) allowed: f64,
}

/// What a limiter kept after one charge for each key.
pub(crate) struct Kept {
    pub(crate) kind: Kind,
    pub(crate) keys: u32,
    pub(crate) bytes_per_key: f64,
    /// The share of spent keys that it no longer knows, where it can tell.
    pub(crate) forgotten: Option<f64>,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("where this program is")?;
    machine::print();
    println!(
        "{} rounds of {} ms each, limiters taking turns, each in its own process; median (least to most)",
        options.rounds(),
        options.turn_ms()
    );
    let (mut measured, mut kept) = (Vec::new(), Vec::new());
    for path in [Path::Allowed, Path::Denied] {
        for keys in workload::key_counts() {
            let cells = cells(path, keys, &options.load);
            if !cells.is_empty() {
                group(&program, options, &cells, &mut measured, &mut kept)?;
            }
        }
    }
    tables::print(&options.kinds(), &measured, &kept);
    floors::print(options.bytes_per_key, options.quick);
    Ok(())
}

/// The cells that one filling of the limiters serves.
fn cells(path: Path, keys: u32, load_filter: &str) -> Vec<Cell> {
    let loads = LOADS
        .into_iter()
        .filter(|load| load.keys == keys && load.name.contains(load_filter));
    loads
        .flat_map(|load| [1, 2].map(|threads| Cell { load, path, threads }))
        .collect()
}

fn group(
    program: &std::path::Path,
    options: &Options,
    cells: &[Cell],
    measured: &mut Vec<Measured>,
    kept: &mut Vec<Kept>,
) -> anyhow::Result<()> {
    let Some(first) = cells.first() else { return Ok(()) };
    let mut seats = Vec::new();
    for kind in options.kinds() {
        eprintln!(
            "filling {} with {} keys ({})",
            kind.name(),
            first.load.keys,
            first.path.name()
        );
        let (seat, bytes, forgotten) = Seat::take(program, kind, first, options.bytes_per_key)?;
        if first.path == Path::Allowed {
            kept.push(Kept {
                kind,
                keys: first.load.keys,
                bytes_per_key: bytes,
                forgotten,
            });
        }
        seats.push(seat);
    }
    for &cell in cells {
        eprintln!("measuring {}", cell.name());
        measured.extend(take_turns(&mut seats, cell, options)?);
    }
    Ok(())
}

fn take_turns(seats: &mut [Seat], cell: Cell, options: &Options) -> anyhow::Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = seats
        .iter()
        .map(|seat| Measured {
            kind: seat.kind,
            cell,
            nanos: Vec::new(),
            allowed: 0.0,
        })
        .collect();
    for _ in 0..options.rounds() {
        for (seat, measured) in seats.iter_mut().zip(&mut measured) {
            let turn = seat.turn(cell, options.turn_ms())?;
            measured.nanos.push(turn.nanos);
            measured.allowed = turn.allowed;
        }
    }
    Ok(measured)
}
