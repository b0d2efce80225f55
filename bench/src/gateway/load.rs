//! The client: wrk on core 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::case::Case;

/// How requests are sent.
pub(crate) struct Load {
    script: PathBuf,
    connections: u32,
}

/// What came back in one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    pub(crate) requests: f64,
    pub(crate) secs: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Answers that are not 2xx or 3xx.
    pub(crate) refused: f64,
    /// Connections that failed.
    pub(crate) broken: f64,
}

impl Answers {
    pub(crate) fn per_second(&self) -> f64 {
        self.requests / self.secs
    }
}

impl Load {
    /// A load with that many connections; its script goes into `folder`.
    pub(crate) fn new(folder: &Path, connections: u32) -> anyhow::Result<Self> {
        let script = folder.join("load.lua");
        fs::write(&script, include_str!("../../conf/load.lua"))?;
        Ok(Self { script, connections })
    }

    /// Asks `port` for `secs` seconds.
    pub(crate) fn run(&self, port: u16, case: Case, secs: u64) -> anyhow::Result<Answers> {
        let url = format!("http://127.0.0.1:{port}/");
        self.ask(&url, &[("KEYS", case.keys().to_string())], secs)
    }

    /// Asks `url` for `secs` seconds, by what `environment` tells the script.
    pub(crate) fn ask(
        &self,
        url: &str,
        environment: &[(&'static str, String)],
        secs: u64,
    ) -> anyhow::Result<Answers> {
        let output = Command::new("taskset")
            .args(["-c", "1", "wrk", "-t1", "--latency"])
            .args([format!("-c{}", self.connections), format!("-d{secs}s")])
            .arg("-s")
            .arg(&self.script)
            .arg(url)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .output()
            .context("running wrk")?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).with_context(|| format!("wrk said: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The line that `load.lua` prints last.
fn parse(text: &str) -> anyhow::Result<Answers> {
    let line = text.lines().find_map(|line| line.strip_prefix("RESULT "));
    let line = line.context("no result")?;
    let words: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [requests, micros, p50_us, p99_us, refused, broken] = words[..] else {
        bail!("a result of {} numbers", words.len());
    };
    Ok(Answers {
        requests,
        secs: micros / 1e6,
        p50_us,
        p99_us,
        refused,
        broken,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_last_line_of_the_script_is_read() {
        let answers = parse("Running 1s test\nRESULT 50000 1000000 740 5270 3 0\n").unwrap();
        assert_eq!(
            (answers.per_second(), answers.p99_us, answers.refused),
            (50_000.0, 5270.0, 3.0)
        );
        assert!(parse("unable to connect").is_err());
    }
}
