//! Child processes that end with the test.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::spawn::spawn;
use crate::wait::PATIENCE;

/// A running program whose log (standard error) is read. Dropped, it and its children are killed; it ends with the test's process
/// in any case.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: Mutex<Receiver<String>>,
    /// Every line of the log, shown when the test fails.
    said: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts `command` in a process group of its own.
    pub fn start(mut command: Command) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = spawn(command)
            .unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask tools` installs it"));
        let (sender, log) = mpsc::channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&said);
        let pipe = BufReader::new(child.stderr.take().unwrap());
        // Ends with the pipe. Reads on when nobody listens, or a full pipe would stop the program.
        thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                all.lock().unwrap().push(line.clone());
                let _ = sender.send(line);
            }
        });
        Self {
            child,
            log: Mutex::new(log),
            said,
        }
    }

    /// The next log line in which `pick` finds something; None if the program ends before.
    pub fn logged<T>(&self, mut pick: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let log = self.log.lock().unwrap();
        while let Ok(line) = log.recv_timeout(PATIENCE) {
            if let Some(found) = pick(&line) {
                return Some(found);
            }
        }
        None
    }

    /// All that the log says up to now.
    pub fn log(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }

    /// The process itself.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end; the log closes then.
    pub fn ended(&mut self) -> ExitStatus {
        while self.log.get_mut().unwrap().recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().unwrap()
    }

    /// Kills the process and its children without a word, as a crash would.
    pub fn kill(&mut self) {
        // Both fail when it has ended by itself.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }

    /// The memory it has now, in KiB.
    pub fn memory_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    /// The most memory it ever had, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    /// How many sockets it has open.
    pub fn sockets(&self) -> usize {
        let files = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        // A file may be closed between being listed and being looked at.
        let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count()
    }

    fn status_kib(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            for line in self.said.lock().unwrap().iter() {
                eprintln!("log: {line}");
            }
        }
    }
}
