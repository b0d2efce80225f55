//! Processes on a core of their own, and the CPU time they took.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

/// A process that is asked to stop when this is dropped.
pub(crate) struct Process {
    child: Child,
    name: String,
}

impl Process {
    /// Starts `program` on `core`, in `folder`.
    pub(crate) fn start<S: AsRef<std::ffi::OsStr>>(
        core: u8,
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let name = program.display().to_string();
        // taskset becomes the program, so the child's id is the program's.
        let child = Command::new("taskset")
            .args(["-c", &core.to_string()])
            .arg(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        Ok(Self { child, name })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `port` takes connections.
    pub(crate) fn listens_on(&mut self, port: u16) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended: {status}", self.name);
            }
            if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not listen on {port}", self.name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A kind word first: nginx's master takes its worker along.
        if let Some(pid) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nanoseconds of CPU, kernel and user, that `pid`, its threads and its children took so far.
pub(crate) fn cpu_nanos(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten().map(|task| task.path());
    tasks.map(|task| of_thread(&task) + of_children(&task)).sum()
}

fn of_thread(task: &Path) -> u64 {
    let times = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    let on_core = times.split_whitespace().next();
    on_core.and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

fn of_children(task: &Path) -> u64 {
    let children = fs::read_to_string(task.join("children")).unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.map(cpu_nanos).sum()
}

/// `N` ports that are free now.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    // All are held until the last is known, so that no two are the same.
    let held: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<_, _>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
