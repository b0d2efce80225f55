//! Named steps: each is announced and timed, a failed one does not keep the next from running, the summary comes last.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The steps of one run.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

struct Done {
    name: &'static str,
    took: Duration,
    end: Result<String, anyhow::Error>,
}

/// What a step hands back: a few words for the summary, or why it failed.
pub(crate) trait Words {
    fn words(self) -> anyhow::Result<String>;
}

impl Words for anyhow::Result<()> {
    fn words(self) -> anyhow::Result<String> {
        self.map(|()| String::new())
    }
}

impl Words for anyhow::Result<String> {
    fn words(self) -> anyhow::Result<String> {
        self
    }
}

impl Steps {
    /// Runs one step now.
    pub(crate) fn run<R: Words>(&mut self, name: &'static str, work: impl FnOnce() -> R) {
        println!("\n=== {name}");
        let start = now();
        let end = work().words();
        let took = start.elapsed();
        self.done.push(Done { name, took, end });
        if let Some(done) = self.done.last() {
            println!("{}", done.line());
        }
    }

    /// Prints the summary. Fails if a step failed, or none ran.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\n=== summary");
        for done in &self.done {
            println!("{}", done.line());
        }
        let good = self.done.iter().filter(|done| done.end.is_ok()).count();
        println!("{good} of {} steps are good", self.done.len());
        if good == self.done.len() && good > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

impl Done {
    fn line(&self) -> String {
        let seconds = self.took.as_secs_f64();
        match &self.end {
            Ok(words) => format!("ok     {seconds:7.1} s  {}  {words}", self.name),
            Err(error) => format!("FAILED {seconds:7.1} s  {}  {error:#}", self.name),
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "build steps are timed; no limit is decided here"
)]
fn now() -> Instant {
    Instant::now()
}
