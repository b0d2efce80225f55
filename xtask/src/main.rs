//! Every repeatable command of this repository: `cargo xtask --help`.
#![allow(clippy::print_stdout, reason = "a command line tool talks on its output")]

mod bench;
mod ci;
mod command;
mod conformance;
mod deny;
mod edges;
mod features;
mod fuzz;
mod packages;
mod reference;
mod steps;
mod test;
mod tidy;
mod totals;
mod wasm;
mod wheel;

use std::process::ExitCode;

use clap::Parser;

use crate::steps::Steps;

/// Every repeatable command of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Xtask {
    /// Install what the tests need (as root), then run every test there is.
    Test,
    /// Install what the tests need (as root), and nothing else.
    Tools,
    /// Everything a change must pass: format, lints, docs, crate edges, feature sets, the benches' build, wasm32, then `test`.
    Ci,
    /// Run public test sets of HTTP against the gateway; they are built the first time.
    Conformance,
    /// Run only the loom models of tidegate-core: every interleaving of a few threads.
    Loom,
    /// Build tidegate-core and tidegate-policy for wasm32-unknown-unknown.
    Wasm,
    /// Check licenses, sources and duplicates of every dependency, offline.
    Deny,
    /// Check the rules of the repository: sizes, links, words, crate edges.
    Tidy,
    /// Write docs/reference.md, which is made of the JSON Schemas.
    Reference(reference::Options),
    /// Give arbitrary bytes to everything that reads what others wrote.
    Fuzz(fuzz::Options),
    /// Measure; arguments go to the benches.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let mut steps = Steps::default();
    match Xtask::parse() {
        Xtask::Test => test::all(&mut steps),
        Xtask::Tools => test::tools(&mut steps),
        Xtask::Ci => ci::all(&mut steps),
        Xtask::Conformance => conformance::all(&mut steps),
        Xtask::Loom => steps.run("loom", test::loom),
        Xtask::Wasm => steps.run("wasm32", wasm::build),
        Xtask::Deny => steps.run("deny", deny::check),
        Xtask::Tidy => steps.run("tidy", tidy::check),
        Xtask::Reference(options) => steps.run("reference", || reference::run(&options)),
        Xtask::Bench(options) => steps.run("bench", || bench::run_benches(&options)),
        Xtask::Fuzz(options) => steps.run("fuzz", || fuzz::run_targets(&options)),
    }
    steps.finish()
}
