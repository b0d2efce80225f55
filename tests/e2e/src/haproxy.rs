//! A real balancer.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::nginx::{PORTS_TRIED, free_address};
use tidegate_test_servers::Process;

/// A running HAProxy.
#[derive(Debug)]
pub struct Haproxy {
    _process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Haproxy {
    /// Starts one that forwards bytes, as they are, to `server`, whose line in the configuration ends with `options`, and waits until it
    /// takes connections.
    pub fn before(server: SocketAddr, options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..PORTS_TRIED {
            let address = free_address();
            let configuration = format!(
                "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
                 listen all\n  bind {address}\n  server gateway {server} {options}\n"
            );
            fs::write(folder.path().join("haproxy.cfg"), configuration).unwrap();
            if let Some(process) = run(folder.path()) {
                return Self {
                    _process: process,
                    address,
                    _folder: folder,
                };
            }
        }
        panic!("haproxy does not start");
    }

    /// `path` at the balancer.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn run(folder: &Path) -> Option<Process> {
    // Its main process speaks up when the sockets are bound and its worker runs.
    let mut command = Command::new("haproxy");
    command.args(["-W", "-f", "haproxy.cfg"]).current_dir(folder);
    let process = Process::start(command);
    let ready = |line: &str| line.contains("Loading success").then_some(());
    process.logged(ready).map(|()| process)
}
