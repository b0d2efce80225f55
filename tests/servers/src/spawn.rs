//! Children that end with the test's process, however it ends.

#![allow(
    unsafe_code,
    reason = "one call between fork and exec, proven where it is made"
)]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread;

type Answer = io::Result<Child>;

/// Starts `command`. The kernel kills the child when this process ends.
///
/// What the kernel watches is the thread that started the child, and each test has a thread of its own. So one thread that never
/// ends starts them all.
pub(crate) fn spawn(mut command: Command) -> Answer {
    static STARTER: OnceLock<Sender<(Command, Sender<Answer>)>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (jobs, asked) = mpsc::channel::<(Command, Sender<Answer>)>();
        thread::spawn(move || {
            for (mut command, answer) in asked {
                let _ = answer.send(command.spawn());
            }
        });
        jobs
    });
    die_with_parent(&mut command);
    let (answer, answered) = mpsc::channel();
    starter.send((command, answer)).unwrap();
    answered.recv().unwrap()
}

#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};

    let ask = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: it runs in the child between fork and exec, where only async-signal-safe calls are allowed: this is one system call
    // (prctl), which takes no lock and allocates nothing; nor does an error made from a number.
    unsafe { command.pre_exec(ask) };
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
