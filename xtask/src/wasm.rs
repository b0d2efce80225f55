//! Building the pure crates for wasm32-unknown-unknown.
//!
//! With rustup the target is one download. Where rustup gets none, Debian's `rustc-web` builds the standard library first.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::command::{cargo, program, read, root, run};
use crate::packages;

const TARGET: &str = "wasm32-unknown-unknown";
/// The crates that have to run outside of a native process.
const CRATES: &[&str] = &["--package=tidegate-core", "--package=tidegate-policy"];
/// How long rustup may take, in seconds, before Debian's compiler is taken instead.
const RUSTUP_TIMEOUT: &str = "60";
/// Debian's compiler, and its sources of the standard library.
const DEBIAN: &[&str] = &["rustc-web", "cargo-web", "rust-web-src"];

/// Builds tidegate-core and tidegate-policy for wasm32.
pub(crate) fn build() -> anyhow::Result<String> {
    if has_target()? || (!has_debian() && rustup_adds_target()) {
        build_with(&mut cargo("build"))?;
        return Ok("with rustup's target".into());
    }
    if !has_debian() {
        install_debian()?;
    }
    with_debian()?;
    Ok("with Debian's rustc-web".into())
}

fn build_with(cargo: &mut Command) -> anyhow::Result<()> {
    let own = root().join("target/wasm");
    run(cargo
        .args(["--locked", "--target", TARGET])
        .args(CRATES)
        .env("CARGO_TARGET_DIR", own))
}

fn has_target() -> anyhow::Result<bool> {
    Ok(sysroot()?.join("lib/rustlib").join(TARGET).is_dir())
}

fn rustup_adds_target() -> bool {
    run(program("timeout").args([RUSTUP_TIMEOUT, "rustup", "target", "add", TARGET])).is_ok()
}

fn has_debian() -> bool {
    ["/usr/bin/rustc", "/usr/bin/cargo", "/usr/lib/rustlib/src"]
        .iter()
        .all(|path| Path::new(path).exists())
}

fn install_debian() -> anyhow::Result<()> {
    if !packages::is_root() {
        bail!(
            "`rustup target add {TARGET}` failed; else as root: `apt-get install {}`",
            DEBIAN.join(" ")
        );
    }
    packages::install(DEBIAN)
}

/// Builds with Debian's compiler, the standard library included (about a minute, once), and links with rustup's linker.
fn with_debian() -> anyhow::Result<()> {
    let linker = sysroot()?.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    build_with(
        program("/usr/bin/cargo")
            .args(["build", "-Zbuild-std=std,panic_abort"])
            .env_remove("RUSTUP_TOOLCHAIN")
            .env("RUSTC", "/usr/bin/rustc")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker),
    )
}

fn sysroot() -> anyhow::Result<PathBuf> {
    Ok(read(program("rustc").args(["--print", "sysroot"]))?.trim().into())
}
