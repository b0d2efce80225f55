//! A real balancer.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use tempfile::TempDir;

use crate::nginx::{PORTS_TRIED, free_address};
use tidegate_test_servers::Process;

/// A running HAProxy that forwards bytes, as they are, to one server.
#[derive(Debug)]
pub struct Haproxy {
    _process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Haproxy {
    /// Starts one before `server`, whose line in the configuration ends with `options`, and waits until it takes connections.
    pub fn before(server: SocketAddr, options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("haproxy.cfg");
        for _ in 0..PORTS_TRIED {
            let address = free_address();
            let text = format!(
                "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
                 listen all\n  bind {address}\n  server gateway {server} {options}\n"
            );
            fs::write(&file, text).unwrap();
            // Its main process speaks up when the sockets are bound and its worker runs.
            let mut command = Command::new("haproxy");
            command.arg("-W").arg("-f").arg(&file);
            let process = Process::start(command);
            let ready = |line: &str| line.contains("Loading success").then_some(());
            if process.logged(ready).is_some() {
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
