//! What the system says about this process.

use std::fmt;
use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::page::Page;

/// Tells CPU time, memory, threads and open files. What the system does not say is 0.
pub(crate) fn process(page: &mut Page<'_>) -> fmt::Result {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    page.counter_of_seconds(
        (
            "process_cpu_seconds",
            "Time that processors spent on this process",
        ),
        spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9,
    )?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    page.gauge(
        (
            "process_resident_memory_bytes",
            "Memory that this process has in use",
        ),
        figure(&status, "VmRSS:").saturating_mul(1024),
    )?;
    page.gauge(
        ("process_threads", "Threads of this process"),
        figure(&status, "Threads:"),
    )?;
    page.gauge(
        ("process_open_fds", "Files and sockets that are open"),
        open_files(),
    )?;
    page.gauge(
        ("process_max_fds", "Files and sockets that may be open"),
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    )
}

/// The number behind `name` in `/proc/self/status`.
fn figure(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Kernels since 6.2 say the count as the folder's size; older ones say 0, and then the folder is read.
fn open_files() -> u64 {
    let folder = "/proc/self/fd";
    match fs::metadata(folder).map_or(0, |folder| folder.len()) {
        0 => fs::read_dir(folder).map_or(0, |files| files.count() as u64),
        count => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_number_behind_its_name() {
        let status = "Name:\ttidegate\nThreads:\t3\nVmRSS:\t    5120 kB\n";
        assert_eq!(figure(status, "Threads:"), 3);
        assert_eq!(figure(status, "VmRSS:"), 5120);
        assert_eq!(figure(status, "VmSwap:"), 0);
    }

    #[test]
    fn this_process_has_files_open() {
        assert!(open_files() >= 3);
    }
}
