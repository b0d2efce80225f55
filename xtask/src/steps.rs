//! Named steps: each is announced and timed, a failed one does not keep the next from running, the summary comes last.

use std::time::{Duration, Instant};

use anyhow::bail;

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

    /// Prints the summary. Fails if a step failed.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        println!("\n=== summary");
        for done in &self.done {
            println!("{}", done.line());
        }
        let failed: Vec<_> = self
            .done
            .iter()
            .filter(|done| done.end.is_err())
            .map(|done| done.name)
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
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
