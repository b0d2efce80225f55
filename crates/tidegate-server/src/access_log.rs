//! One JSON object for each request, written when it has ended.

mod line;
mod object;

use std::io;
use std::time::Duration;

use tidegate_policy::{AccessLog as Settings, LogTarget, Logged};

use crate::outlet::{Outlet, Sink};

pub(crate) use line::{Line, utc};

/// Where lines about requests go. Clones share it.
#[derive(Clone, Debug)]
pub struct AccessLog {
    outlet: Outlet,
    only: Logged,
    sample_percent: u8,
}

impl AccessLog {
    /// Opens what `settings` name.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(settings: &Settings) -> io::Result<Self> {
        let sink = match &settings.to {
            LogTarget::Stdout => Sink::stdout(),
            LogTarget::Stderr => Sink::stderr(),
            LogTarget::File(path) => Sink::file(path),
        };
        Ok(Self {
            outlet: Outlet::start("access-log", sink?)?,
            only: settings.only,
            sample_percent: settings.sample_percent,
        })
    }

    /// Opens the file anew, after it was moved away.
    pub fn reopen(&self) {
        self.outlet.reopen();
    }

    /// How many lines were dropped, because their reader is too slow or gone.
    pub fn lost(&self) -> u64 {
        self.outlet.lost()
    }

    /// Waits until everything is written, for at most `patience`.
    pub fn flush(&self, patience: Duration) {
        // What is not written in time is lost.
        let _ = self.outlet.flush(patience);
    }

    /// Whether the sample takes a request that begins; `random` says any number.
    pub(crate) fn takes(&self, random: impl FnOnce() -> u64) -> bool {
        self.sample_percent == 100 || random() % 100 < u64::from(self.sample_percent)
    }

    /// Writes `line`, if it is about a request that is asked for. Never waits.
    pub(crate) fn write(&self, line: &Line) {
        let wanted = match self.only {
            Logged::All => true,
            Logged::Rejected => line.error.is_some(),
        };
        if wanted {
            self.outlet.send(line.json());
        }
    }
}
