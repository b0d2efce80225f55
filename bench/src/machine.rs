//! The machine: what it is, and pinning to its cores.

use std::fs;
use std::process::Command;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Keeps the calling thread on `core`, if there is such a core.
pub(crate) fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // On a machine with fewer cores the thread stays where it may run.
    let _ = sched_setaffinity(None, &set);
}

/// The bytes of memory that this process has in use.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Prints what the figures below it were measured on.
pub(crate) fn print() {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&info, "model name").unwrap_or("unknown processor");
    let guest = if info.contains(" hypervisor") {
        ", virtual"
    } else {
        ""
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = first_word("/proc/sys/kernel/osrelease");
    let load = first_word("/proc/loadavg");
    println!(
        "machine: {model}, {cores} cores{guest}, Linux {kernel}, {}",
        rustc()
    );
    println!("load before the run: {load} (figures are worth most when this is near 0)");
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let line = info.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

fn first_word(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    version.unwrap_or_else(|_| "rustc ?".to_owned())
}
