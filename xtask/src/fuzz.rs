//! Fuzzing, in a workspace of its own under `fuzz/`.

use anyhow::bail;

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seconds per target.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs every fuzz target for a while.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    bail!("no fuzz targets yet ({} s)", options.seconds)
}
