//! Benches live in a workspace of their own, so that the crates they compare with stay out of the product's lock file.

use std::path::PathBuf;

use crate::command::{cargo, root, run};
use crate::packages;

/// What to measure: all of it, or one of `decision`, `gateway`, `doors`, `features`, `store` and `instructions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The bench and its options, as in `cargo xtask bench decision --quick`; `cargo xtask bench help decision` tells more.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the benches.
pub(crate) fn run_benches(options: &Options) -> anyhow::Result<()> {
    if !options.arguments.is_empty() {
        return run_one(&options.arguments);
    }
    for bench in [
        "instructions",
        "decision",
        "gateway",
        "doors",
        "features",
        "store",
    ] {
        run_one(&[bench.to_owned()])?;
    }
    Ok(())
}

fn run_one(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first().map(String::as_str) {
        Some("gateway" | "features") => build_tidegate()?,
        Some("doors") => {
            build_tidegate()?;
            let _module = build_redis_cell()?;
            packages::ensure(packages::FOR_PEERS)?;
            // Not in the bench's lock file: it is a program, and no crate that could be depended on.
            run(&mut cargo(
                "install throttlecrab-server --version 0.4.40 --locked --root bench/target/peers",
            ))?;
        }
        Some("store") => {
            let _module = build_redis_cell()?;
        }
        _ => {}
    }
    let mut bench = cargo("run --release --locked --quiet --manifest-path bench/Cargo.toml --");
    run(bench.args(arguments))
}

fn build_tidegate() -> anyhow::Result<()> {
    run(&mut cargo("build --release --locked --package tidegate"))
}

/// Builds redis-cell, and says where it is.
pub(crate) fn build_redis_cell() -> anyhow::Result<PathBuf> {
    run(&mut cargo(
        "rustc --release --locked --quiet --manifest-path bench/Cargo.toml --package redis-cell --crate-type cdylib",
    ))?;
    Ok(root().join("bench/target/release/libredis_cell.so"))
}
