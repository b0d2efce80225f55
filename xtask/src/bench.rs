//! Benches live in a workspace of their own, so that the crates they compare with stay out of the product's lock file.

use anyhow::bail;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Passed on as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the benches.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    bail!("no benches yet: {:?}", options.arguments)
}
