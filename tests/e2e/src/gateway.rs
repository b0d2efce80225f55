//! The binary under test.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use tidegate_test_servers::Process;

/// Where a gateway listens that has one port of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// HTTP in clear.
    pub clear: SocketAddr,
    /// The same behind a header of the PROXY protocol.
    pub proxied: SocketAddr,
    /// TLS.
    pub tls: SocketAddr,
    /// The admin listener.
    pub admin: SocketAddr,
}

/// A running `tidegate serve` or `tidegate demo`.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    /// Holds the policy file while the gateway runs.
    _folder: Option<TempDir>,
}

impl Gateway {
    /// Starts `tidegate` with these arguments on a free port of 127.0.0.1, and waits until it listens.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_on("127.0.0.1:0", arguments)
    }

    /// Starts `tidegate serve` in front of `upstream`, listening as `policies` say: the file in `folder` that they are written to.
    pub fn in_folder(folder: &Path, upstream: &str, policies: &str) -> Self {
        let file = folder.join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        let arguments = [
            "serve",
            "--config",
            file.to_str().unwrap(),
            "--upstream",
            upstream,
        ];
        Self::start_with(&arguments)
    }

    /// The same where `policies` name an admin listener and three others: in clear, behind a proxy, with TLS. Doors are left aside.
    pub fn with_ports(folder: &Path, upstream: &str, policies: &str) -> (Self, Ports) {
        let file = folder.join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        let file = file.to_str().unwrap();
        let mut command = Self::command(&["serve", "--config", file, "--upstream", upstream]);
        command.args(["--log-format", "json"]);
        let process = Process::start(command);
        let next = |message: &str| {
            // Doors have ports of their own.
            let found =
                process.logged(|line| announced(line, message).filter(|_| !line.contains(r#""door""#)));
            found.unwrap_or_else(|| panic!("the gateway ended before `{message}`"))
        };
        // In the order in which it says so.
        let admin = next(ADMIN);
        let [clear, proxied, tls] = [(); 3].map(|()| next("listening"));
        let gateway = Self {
            process,
            address: clear,
            admin: Some(admin),
            _folder: None,
        };
        (
            gateway,
            Ports {
                clear,
                proxied,
                tls,
                admin,
            },
        )
    }

    /// Starts `tidegate serve` with these policies and the doors in them, the first of which is its address. There is nothing to forward
    /// to.
    pub fn doors(policies: &str) -> Self {
        Self::of_doors(&format!("admin: 'off'\n{policies}"))
    }

    /// The same beside an admin listener.
    pub fn doors_and_admin(policies: &str) -> Self {
        Self::of_doors(&format!("admin: 127.0.0.1:0\n{policies}"))
    }

    fn of_doors(policies: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        Self {
            _folder: Some(folder),
            ..Self::start_with(&["serve", "--config", file.to_str().unwrap()])
        }
    }

    /// Starts it on `listen`.
    pub fn start_on(listen: &str, arguments: &[&str]) -> Self {
        Self::start_with(&[arguments, &["--listen", listen]].concat())
    }

    /// Starts `tidegate serve` in front of `upstream`, listening where its policy file says.
    pub fn as_configured(upstream: &str, policies: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        let file = file.to_str().unwrap();
        let arguments = ["serve", "--config", file, "--upstream", upstream];
        Self {
            _folder: Some(folder),
            ..Self::start_with(&arguments)
        }
    }

    fn start_with(arguments: &[&str]) -> Self {
        Self::run(Self::command(arguments))
    }

    /// Starts `command`, one of [`Gateway::command`], and waits until it listens.
    pub fn run(mut command: Command) -> Self {
        command.args(["--log-format", "json"]);
        let process = Process::start(command);
        let mut admin = None;
        // In this order.
        let listens = process.logged(|line| {
            admin = admin.or_else(|| announced(line, ADMIN));
            announced(line, "listening")
        });
        Self {
            process,
            address: listens.expect("the gateway ended before it listened"),
            admin,
            _folder: None,
        }
    }

    /// Starts `tidegate serve` in front of `upstream` with the rest of a policy file as given.
    pub fn with_policies(upstream: &str, policies: &str) -> Self {
        Self::with_files("127.0.0.1:0", upstream, policies, &[])
    }

    /// The same on `listen`, with more files beside the policy file.
    pub fn with_files(listen: &str, upstream: &str, policies: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidegate.yaml");
        fs::write(&file, policies).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let arguments = [
            "serve",
            "--config",
            file.to_str().unwrap(),
            "--upstream",
            upstream,
        ];
        Self {
            _folder: Some(folder),
            ..Self::start_on(listen, &arguments)
        }
    }

    /// The binary with these arguments.
    pub fn command(arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).env_remove("TIDEGATE_LOG");
        command
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `path` at the gateway.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `path` at its admin listener.
    pub fn admin_url(&self, path: &str) -> String {
        let admin = self.admin.expect("an admin listener");
        format!("http://{admin}{path}")
    }

    /// The value of `series` in its metrics, as they are told.
    pub fn metric(&self, series: &str) -> f64 {
        let page = crate::curl(&[&self.admin_url("/metrics")]).body;
        let mut lines = page.lines().filter_map(|line| line.rsplit_once(' '));
        let value = lines.find_map(|(name, value)| (name == series).then_some(value));
        value
            .unwrap_or_else(|| panic!("no {series} in {page}"))
            .parse()
            .unwrap()
    }

    /// The process, for its signals, memory and log.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Asks it to stop, and says how it ended.
    pub fn stop(self) -> Option<i32> {
        self.ask_to_stop();
        self.ended()
    }

    /// Asks it to stop.
    pub fn ask_to_stop(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Waits for its end, and says how it ended.
    pub fn ended(mut self) -> Option<i32> {
        self.process.ended().code()
    }
}

/// What it says of its admin listener.
const ADMIN: &str = "admin: /metrics, /livez, /readyz, /status";

/// The address in a line of the log that says `message`.
fn announced(line: &str, message: &str) -> Option<SocketAddr> {
    let event: Value = serde_json::from_str(line).ok()?;
    (event["message"] == message).then(|| event["address"].as_str()?.parse().ok())?
}

/// The binary, built in the profile of this test unless `TIDEGATE_BINARY` names another.
fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("TIDEGATE_BINARY") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let test = env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let release = profile.ends_with("release").then_some("--release");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Its own test needs it. Only so, its crates have the features that they have in a test run of the workspace, which has built
    // it then; else fifty of them would be built once more, while the first test that needs it waits.
    let built = Command::new(cargo)
        .args([
            "test",
            "--quiet",
            "--locked",
            "--workspace",
            "--no-run",
            "--test",
            "binary",
        ])
        .args(release)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.unwrap().success(), "tidegate does not build");
    profile.join("tidegate")
}
