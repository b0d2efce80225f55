//! A real proxy that asks.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::nginx::{PORTS_TRIED, free_address};
use tidegate_test_servers::Process;

/// Where Envoy listens in configurations.
const LISTENS: &str = "port_value: 10000";

/// A running Envoy.
#[derive(Debug)]
pub struct Envoy {
    _process: Process,
    address: SocketAddr,
    _folder: TempDir,
}

impl Envoy {
    /// Starts one with this configuration on a free port in place of 10000, and waits until it takes connections.
    pub fn start(configuration: &str) -> Self {
        assert!(configuration.contains(LISTENS));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("envoy.yaml");
        for _ in 0..PORTS_TRIED {
            let address = free_address();
            let port = format!("port_value: {}", address.port());
            fs::write(&file, configuration.replace(LISTENS, &port)).unwrap();
            let mut command = Command::new(program());
            command
                .args([
                    "--disable-hot-restart",
                    "--concurrency",
                    "1",
                    "--log-level",
                    "warning",
                    "--component-log-level",
                    "config:info",
                ])
                .arg("--config-path")
                .arg(&file);
            let process = Process::start(command);
            let ready = |line: &str| line.contains("starting workers").then_some(());
            if process.logged(ready).is_some() {
                return Self {
                    _process: process,
                    address,
                    _folder: folder,
                };
            }
        }
        panic!("envoy does not start");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `path` at the proxy.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// `target/tools/servers/envoy` in this repository. `cargo xtask tools` puts it there.
fn program() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    root.join("target/tools/servers/envoy")
}
