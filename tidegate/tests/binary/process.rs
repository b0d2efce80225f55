//! Starting the binary, reading what it says, talking HTTP to it. Nothing here sleeps: every wait is for an event.

use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a step may take before the test is called hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary with these arguments, its environment free of ours.
pub(crate) fn tidegate<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command
        .args(arguments)
        .env_remove("TIDEGATE_LOG")
        .stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Output {
    tidegate(arguments).output().unwrap()
}

/// Runs it to its end with `input` on its standard input.
pub(crate) fn run_with_input<'a>(arguments: impl IntoIterator<Item = &'a str>, input: &str) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    tidegate(arguments).stdin(file).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A process and what it says on standard error, killed when dropped.
pub(crate) struct Process {
    child: Child,
    said: Receiver<String>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::spawn_with_stdout(command, Stdio::null())
    }

    /// With this standard output, which nobody reads.
    fn spawn_with_stdout(command: &mut Command, stdout: Stdio) -> Self {
        let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take();
        let (sender, said) = mpsc::channel();
        let process = Self { child, said };
        let lines = BufReader::new(stderr.unwrap()).lines().map_while(Result::ok);
        thread::spawn(move || lines.take_while(|line| sender.send(line.clone()).is_ok()).count());
        process
    }

    /// The next line it says.
    pub(crate) fn line(&self) -> String {
        self.said.recv_timeout(PATIENCE).unwrap()
    }

    /// Waits for a JSON log line with this message.
    pub(crate) fn logged(&self, message: &str) -> Value {
        loop {
            let event: Value = serde_json::from_str(&self.line()).unwrap();
            if event["message"] == message {
                return event;
            }
        }
    }

    /// Lets `span` pass, unless the process says something or ends within it.
    pub(crate) fn stays_calm_for(&self, span: Duration) {
        assert_eq!(self.said.recv_timeout(span), Err(RecvTimeoutError::Timeout));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end and gives its exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        // What it says ends when the process does; nothing else ends it.
        while self.said.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Disconnected) {}
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway that listens.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    /// Where its admin listener is.
    pub(crate) admin: SocketAddr,
}

impl Running {
    /// Starts it on a free port and waits until it says that it listens.
    pub(crate) fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let here = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        Self::with_stdout(tidegate(arguments).args(here), Stdio::null())
    }

    /// Starts `command`, which listens on free ports, with a standard output that nobody reads.
    pub(crate) fn with_stdout(command: &mut Command, stdout: Stdio) -> Self {
        let process = Process::spawn_with_stdout(command, stdout);
        let admin = process.logged("admin: /metrics, /livez, /readyz, /status");
        let admin = admin["address"].as_str().unwrap().parse().unwrap();
        let listening = process.logged("listening");
        let address = listening["address"].as_str().unwrap().parse().unwrap();
        Self {
            process,
            address,
            admin,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        get(self.address, path)
    }

    /// Stops it with SIGTERM and gives its exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        self.process.signal(Signal::TERM);
        self.process.ended()
    }
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
    }
}

/// Asks for `path` on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, &[])
}

/// The same, with more header fields.
pub(crate) fn get_with(address: SocketAddr, path: &str, fields: &[(&str, &str)]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let more: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{more}\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
