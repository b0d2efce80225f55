//! Instructions per decision, counted by valgrind: the same on a busy machine as on a quiet one.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;

use crate::gateway::install;
use crate::report::Table;

pub(crate) mod counted;

use counted::Step;

/// How to count instructions.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Fail if a step takes over 3 % more instructions than recorded
    #[arg(long)]
    check: bool,
    /// Write the counts to bench/instructions.txt, for later checks
    #[arg(long, conflicts_with = "check")]
    record: bool,
}

/// What a step may grow by until `--check` fails.
const TOLERANCE: f64 = 1.03;

/// Counts, prints, and compares with what was recorded.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    install(&["valgrind"])?;
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.txt");
    let record = fs::read_to_string(&file).unwrap_or_default();
    let recorded = recorded(&record);
    let mut table = Table::new(["step", "instructions", "recorded"]);
    let (mut lines, mut grown) = (String::new(), Vec::new());
    for &step in Step::value_variants() {
        let count = per_step(step)?;
        let before = recorded.get(step.word()).copied();
        table.row([
            step.name().to_owned(),
            format!("{count:.1}"),
            before.map_or_else(|| "-".to_owned(), |before| format!("{before:.1}")),
        ]);
        lines.push_str(&format!("{} {count:.1}\n", step.word()));
        if before.is_some_and(|before| count > before * TOLERANCE) {
            grown.push(step.name());
        }
    }
    table.print("instructions per step");
    if options.record {
        fs::write(&file, lines).context("writing the counts")?;
    }
    if options.check && !grown.is_empty() {
        bail!("more instructions than recorded: {}", grown.join(", "));
    }
    Ok(())
}

/// The difference between a long and a short run leaves out what happens once.
fn per_step(step: Step) -> anyhow::Result<f64> {
    const SHORT: u32 = 1_000;
    const LONG: u32 = 11_000;
    let (short, long) = (count(step, SHORT)?, count(step, LONG)?);
    Ok((long - short) as f64 / f64::from(LONG - SHORT))
}

/// The instructions of a whole process that takes `step` so many `times`.
fn count(step: Step, times: u32) -> anyhow::Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["counted", step.word(), &times.to_string()])
        .stdout(Stdio::null())
        .output()
        .context("running valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :"));
    let collected = collected.with_context(|| format!("valgrind said: {text}"))?;
    Ok(collected.1.trim().parse()?)
}

fn recorded(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter_map(|(word, count)| Some((word, count.parse().ok()?)))
        .collect()
}
