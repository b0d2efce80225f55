//! A folder of `examples`, run on free ports.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use tidegate_test_servers::{Port, Process};

use crate::curl::{Reply, curl};
use crate::gateway::Gateway;
use crate::page::{Shown, search_path};

/// A copy of a folder of `examples`, in which each `127.0.0.1:PORT` and `port_value: PORT` has a port that is free in place of its own.
#[derive(Debug)]
pub struct Example {
    folder: TempDir,
    ports: BTreeMap<u16, Port>,
    path: OsString,
}

/// `path`, where `cargo xtask tools` puts what comes in wheels, and where Debian puts what only root starts.
fn with_servers(path: OsString) -> OsString {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/servers");
    env::join_paths(env::split_paths(&path).chain([servers, "/usr/sbin".into()])).unwrap()
}

impl Example {
    /// A copy of `examples/NAME`, whose files and page speak of `ports`.
    pub fn copy(name: &str, ports: &[u16]) -> Self {
        let example = Self {
            folder: tempfile::tempdir().unwrap(),
            ports: ports.iter().map(|port| (*port, Port::claim())).collect(),
            path: with_servers(search_path()),
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        example.copy_folder(&root.join(name), example.folder.path());
        example
    }

    fn copy_folder(&self, from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let from = entry.unwrap().path();
            let to = to.join(from.file_name().unwrap());
            if from.is_dir() {
                fs::create_dir(&to).unwrap();
                self.copy_folder(&from, &to);
            } else {
                let text = fs::read_to_string(from).unwrap();
                fs::write(to, self.with_ports(&text)).unwrap();
            }
        }
    }

    /// `text` with our ports.
    pub fn with_ports(&self, text: &str) -> String {
        let replace = |text: String, (shown, port): (&u16, &Port)| {
            ["127.0.0.1:", "port_value: "].iter().fold(text, |text, before| {
                text.replace(&format!("{before}{shown}"), &format!("{before}{}", port.number()))
            })
        };
        self.ports.iter().fold(text.to_owned(), replace)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether there is this file.
    pub fn has(&self, file: &str) -> bool {
        self.folder.path().join(file).exists()
    }

    /// Writes `old` anew as `new` in one of its files.
    pub fn change(&self, file: &str, old: &str, new: &str) {
        let file = self.folder.path().join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "{old}");
        fs::write(file, text.replace(old, new)).unwrap();
    }

    /// `path` at what listens on `port` in the files.
    pub fn url(&self, port: u16, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[&port].number())
    }

    /// Asks for `path` there, with more arguments for curl.
    pub fn curl(&self, port: u16, path: &str, arguments: &[&str]) -> Reply {
        let url = self.url(port, path);
        curl(&[&[url.as_str()], arguments].concat())
    }

    /// Starts `program` in its folder; it is ready when its log says so, on whichever output.
    pub fn start(&self, program: &str, arguments: &[&str], ready: &str) -> Process {
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$@\" >&2", "sh", program])
            .args(arguments)
            .current_dir(self.folder())
            .env("PATH", &self.path)
            // Where Caddy keeps what it remembers.
            .env("XDG_CONFIG_HOME", self.folder())
            .env("XDG_DATA_HOME", self.folder());
        let process = Process::start(command);
        let is_ready = |line: &str| line.contains(ready).then_some(());
        assert!(process.logged(is_ready).is_some(), "{program} ended");
        process
    }

    /// Starts `tidegate serve` with its policy file.
    pub fn tidegate(&self) -> Gateway {
        self.tidegate_with("tidegate.yaml")
    }

    /// Starts `tidegate serve` with another of its files.
    pub fn tidegate_with(&self, policies: &str) -> Gateway {
        let mut command = Gateway::command(&["serve", "--config", policies, "--admin", "off"]);
        command.current_dir(self.folder());
        Gateway::run(command)
    }

    /// Runs `command` as a shell in its folder does.
    pub fn shell(&self, command: &str) -> Output {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", command]).current_dir(self.folder());
        shell.env("PATH", &self.path).output().unwrap()
    }

    /// Runs the commands that a page shows, and compares what they print.
    pub fn play(&self, commands: &[Shown]) {
        for shown in commands {
            let output = self.shell(&self.with_ports(shown.command));
            let printed = String::from_utf8_lossy(&output.stdout).replace('\r', "");
            let told = String::from_utf8_lossy(&output.stderr);
            let expected = self.with_ports(&shown.prints);
            assert_eq!(printed.trim_end(), expected, "$ {}\n{told}", shown.command);
        }
    }

    /// Runs the commands of a page that are neither among `apart` nor begin as one of these do: the test runs those itself.
    pub fn play_all(&self, text: &'static str, apart: &[&str]) {
        let mut commands = crate::page::shown(text);
        commands.retain(|shown| !apart.iter().any(|apart| shown.command.starts_with(apart)));
        assert!(!commands.is_empty(), "there is something to try");
        self.play(&commands);
    }
}
