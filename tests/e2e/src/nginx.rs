//! A real origin.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use tidegate_test_servers::Process;
use tidegate_test_servers::until;

const CONFIGURATION: &str = include_str!("nginx.conf");
/// How often a port that someone else took in between is given up for another.
pub(crate) const PORTS_TRIED: usize = 20;

/// A running nginx with a folder of its own. What it answers is in `nginx.conf` beside this file.
#[derive(Debug)]
pub struct Nginx {
    process: Process,
    address: SocketAddr,
    folder: TempDir,
}

impl Nginx {
    /// Starts one on a free port, and waits until it takes connections.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["files", "temp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for _ in 0..PORTS_TRIED {
            let address = free_address();
            if let Some(process) = run(folder.path(), address) {
                return Self {
                    process,
                    address,
                    folder,
                };
            }
        }
        panic!(
            "nginx does not start; `nginx -p {} -c nginx.conf` says why",
            folder.path().display()
        );
    }

    /// Ends it as a crash would, workers included.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again where it was, after [`Nginx::kill`].
    pub fn restart(&mut self) {
        self.process = until("nginx starts again", || run(self.folder.path(), self.address));
    }

    /// Its base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts a file of zeros at `/files/NAME`.
    pub fn serve_zeros(&self, name: &str, bytes: u64) {
        File::create(self.file(name)).unwrap().set_len(bytes).unwrap();
    }

    /// Where `/files/NAME` is on disk.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("files").join(name)
    }

    /// The bodies of requests for `/login`, in the order of their arrival.
    pub fn bodies(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path().join("temp/body")).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }

    /// The requests it has answered: method, target, status, connection number, `X-Forwarded-For`.
    pub fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The requests it has answered once `marker` is among them. Send it through last.
    pub fn log_up_to(&self, marker: &str) -> Vec<String> {
        until("the marker is in nginx's log", || {
            let mut lines = self.log();
            let last = lines.iter().position(|line| line.contains(marker))?;
            lines.truncate(last);
            Some(lines)
        })
    }
}

/// Starts nginx in `folder`, listening on `address`. None if it cannot have it.
fn run(folder: &Path, address: SocketAddr) -> Option<Process> {
    let owner = if folder.metadata().unwrap().uid() == 0 {
        "user root;"
    } else {
        ""
    };
    let text = CONFIGURATION
        .replace("ADDRESS", &address.to_string())
        .replace("OWNER", owner);
    fs::write(folder.join("nginx.conf"), text).unwrap();
    let mut command = Command::new(if Path::new("/usr/sbin/nginx").exists() {
        "/usr/sbin/nginx"
    } else {
        "nginx"
    });
    command
        .arg("-p")
        .arg(folder)
        .args(["-e", "stderr", "-c", "nginx.conf"]);
    let process = Process::start(command);
    // Sockets are bound before workers start, so connections are taken from here on.
    process.logged(|line| line.contains("start worker process ").then_some(()))?;
    Some(process)
}

pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
}
