//! A limiter in its own process: it fills itself, says so, and takes the turns that it is told to.

use std::hint::black_box;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::limiter::{
    GovernorNumber, GovernorText, Kind, Limitador, Limiter, Null, Throttlecrab, Tidegate, Yardstick,
};
use super::workload::{LOADS, Load, Name, Path, picks};
use crate::machine;

/// What the process is to be. For the bench itself, not for people.
#[derive(clap::Args)]
pub(crate) struct Options {
    kind: Kind,
    path: Path,
    keys: u32,
    bytes_per_key: usize,
}

/// Answers turns until its input ends.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let quota = options.path.quota(options.keys);
    let keys = options.keys;
    let before = machine::resident_bytes();
    match options.kind {
        Kind::Tidegate => {
            // A single key needs no more than the smallest table, but no smaller one than a few pages.
            let bytes = (keys as usize * options.bytes_per_key).max(1 << 16);
            serve(&Tidegate::new(quota, bytes)?, options, before)
        }
        Kind::GovernorU64 => serve(&GovernorNumber::new(quota)?, options, before),
        Kind::GovernorString => serve(&GovernorText::new(quota)?, options, before),
        Kind::Throttlecrab => serve(&Throttlecrab::new(quota, keys)?, options, before),
        Kind::Limitador => serve(&Limitador::new(quota, keys)?, options, before),
        Kind::Yardstick => serve(&Yardstick::new(quota, keys), options, before),
        Kind::Null => serve(&Null, options, before),
    }
}

fn serve<L: Limiter>(limiter: &L, options: &Options, resident_before: u64) -> anyhow::Result<()> {
    fill(limiter, options);
    let grown = machine::resident_bytes().saturating_sub(resident_before) as f64;
    let forgotten = forgotten(limiter, options.keys);
    say(&format!(
        "{} {}",
        grown / f64::from(options.keys),
        forgotten.unwrap_or(f64::NAN)
    ))?;
    let mut prepared: Option<(Load, Vec<Vec<u32>>)> = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (load, threads, turn) = parse_turn(&line).context("a turn that cannot be read")?;
        if prepared.as_ref().is_none_or(|(ready_for, _)| *ready_for != load) {
            prepared = Some((load, (0..2).map(|thread| picks(load, thread)).collect()));
        }
        if let Some((_, picks)) = &prepared {
            let (nanos, allowed) = measure(limiter, &picks[..threads.min(2)], turn);
            say(&format!("{nanos} {allowed}"))?;
        }
    }
    Ok(())
}

/// Spends until refused (or once, where nothing is refused), so that no turn meets a key for the first time.
fn fill<L: Limiter>(limiter: &L, options: &Options) {
    let most = match options.path {
        Path::Allowed => 1,
        Path::Denied => options.path.quota(options.keys).burst + 1,
    };
    let mut name = Name::new();
    for index in 0..options.keys {
        name.write(index);
        let _ = (0..most).take_while(|_| limiter.allows(&name)).count();
    }
}

fn forgotten<L: Limiter>(limiter: &L, keys: u32) -> Option<f64> {
    let mut name = Name::new();
    let mut lost = 0;
    for index in 0..keys {
        name.write(index);
        lost += u32::from(!limiter.remembers(&name)?);
    }
    Some(f64::from(lost) / f64::from(keys))
}

fn parse_turn(line: &str) -> Option<(Load, usize, Duration)> {
    let mut words = line.split(' ');
    let load = LOADS.get(words.next()?.parse::<usize>().ok()?)?;
    let threads = words.next()?.parse().ok()?;
    let millis = words.next()?.parse().ok()?;
    Some((*load, threads, Duration::from_millis(millis)))
}

/// Nanoseconds per decision and thread, and the share allowed, with one thread per list of picks.
fn measure<L: Limiter>(limiter: &L, picks: &[Vec<u32>], turn: Duration) -> (f64, f64) {
    let start = Barrier::new(picks.len());
    let turns: Vec<Turn> = thread::scope(|scope| {
        let threads: Vec<_> = picks
            .iter()
            .enumerate()
            .map(|(core, picks)| {
                let start = &start;
                scope.spawn(move || {
                    machine::pin(core);
                    start.wait();
                    take_turn(limiter, picks, turn)
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let nanos = turns.iter().map(|turn| turn.nanos / turn.decisions).sum::<f64>() / turns.len() as f64;
    let decisions = turns.iter().map(|turn| turn.decisions).sum::<f64>();
    (
        nanos,
        turns.iter().map(|turn| turn.allowed).sum::<f64>() / decisions,
    )
}

struct Turn {
    nanos: f64,
    decisions: f64,
    allowed: f64,
}

/// The loop that is measured.
fn take_turn<L: Limiter>(limiter: &L, picks: &[u32], turn: Duration) -> Turn {
    const BETWEEN_LOOKS_AT_THE_CLOCK: usize = 1024;
    let mut name = Name::new();
    let (mut decisions, mut allowed) = (0u64, 0u64);
    let start = Instant::now();
    for some in picks.chunks(BETWEEN_LOOKS_AT_THE_CLOCK).cycle() {
        for &index in some {
            name.write(index);
            allowed += u64::from(black_box(limiter.allows(black_box(&name))));
        }
        decisions += some.len() as u64;
        if start.elapsed() >= turn {
            break;
        }
    }
    Turn {
        nanos: start.elapsed().as_nanos() as f64,
        decisions: decisions as f64,
        allowed: allowed as f64,
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
