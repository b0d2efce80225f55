//! The other end of a contender: its process, and turns asked of it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;

use super::limiter::Kind;
use super::workload::{Cell, LOADS};

/// A contender that is filled and waits for its turn. Dropping it ends its process.
pub(crate) struct Seat {
    pub(crate) kind: Kind,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What came of one turn.
pub(crate) struct TurnResult {
    pub(crate) nanos: f64,
    pub(crate) allowed: f64,
}

impl Seat {
    /// Starts a contender for `cell`'s keys and path and waits until it is filled. Also gives the bytes that it grew by
    /// per key, and the share of keys it forgot.
    pub(crate) fn take(
        program: &Path,
        kind: Kind,
        cell: &Cell,
        bytes_per_key: usize,
    ) -> anyhow::Result<(Self, f64, Option<f64>)> {
        let kind_word = kind.to_possible_value().context("a kind without a word")?;
        let mut child = Command::new(program)
            .args(["contender", kind_word.get_name(), cell.path.name()])
            .args([cell.load.keys.to_string(), bytes_per_key.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a contender")?;
        let input = child.stdin.take().context("a contender's input")?;
        let output = child.stdout.take().context("a contender's output")?;
        let mut seat = Self {
            kind,
            child,
            input,
            output: BufReader::new(output),
        };
        let [bytes, forgotten] = seat.answer()?;
        Ok((seat, bytes, (!forgotten.is_nan()).then_some(forgotten)))
    }

    /// Lets the contender decide for `millis`.
    pub(crate) fn turn(&mut self, cell: Cell, millis: u64) -> anyhow::Result<TurnResult> {
        let load = LOADS.iter().position(|load| *load == cell.load);
        let load = load.context("a load that is not in the list")?;
        writeln!(self.input, "{load} {} {millis}", cell.threads)?;
        self.input.flush()?;
        let [nanos, allowed] = self.answer()?;
        Ok(TurnResult { nanos, allowed })
    }

    fn answer(&mut self) -> anyhow::Result<[f64; 2]> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let words: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [first, second] = words[..] else {
            bail!("{} ended or answered {line:?}", self.kind.name());
        };
        Ok([first, second])
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // It holds nothing worth saving.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
