//! The programs that the bench starts, from the system's packages.

use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::candidate::Kind;

/// Makes sure that everything is there, and installs it as root on Debian.
pub(crate) fn ready(kinds: &[Kind]) -> anyhow::Result<()> {
    let mut wanted = vec!["wrk", "nginx"];
    if kinds.contains(&Kind::Haproxy) {
        wanted.push("haproxy");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(
        cores >= 2,
        "the proxy and its client need a core each, and this machine has {cores}"
    );
    install(&wanted)
}

/// Installs those of `programs` that are missing; each is named as its package.
pub(crate) fn install(programs: &[&str]) -> anyhow::Result<()> {
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|program| !is_there(program))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let command = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    ensure!(
        rustix::process::geteuid().is_root(),
        "missing: {}. As root: {command}",
        missing.join(", ")
    );
    eprintln!("{command}");
    let status = Command::new("apt-get")
        .args(["install", "-y", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null())
        .status()
        .context("running apt-get")?;
    ensure!(status.success(), "`{command}` failed; `apt-get update` may help");
    Ok(())
}

fn is_there(program: &str) -> bool {
    let found = Command::new("which").arg(program).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}
