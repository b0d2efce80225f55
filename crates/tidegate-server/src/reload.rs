//! Reload: what files say is replaced while the process runs.
//!
//! Files are read again when one of them changes, and on SIGHUP. What cannot be used changes nothing: the last good set goes on.

mod fixed;
mod status;
mod watch;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::access_log::AccessLog;
use crate::boot::BootError;
use crate::clock::Clock;
use crate::live::Stage;
use crate::load::{Files, LoadError};
use crate::loader::{Loader, Ready};
use crate::supervisor;
use crate::tls::TlsSwitch;
use tidegate_policy::{Problem, Severity};

pub(crate) use fixed::Fixed;
pub use status::{ReloadFailure, ReloadStatus, Reloads};
use watch::Watch;

/// How often files are looked at without having heard of a change: some file systems tell of none.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// How many times in a row files are looked at.
const MOST_LOOKS: usize = 5;

/// How it was noticed that files have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noticed {
    /// The system told of a change.
    Told,
    /// Somebody looked, without having been told.
    Looked,
    /// SIGHUP.
    Asked,
}

impl Noticed {
    const fn name(self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::Looked => "looked",
            Self::Asked => "asked",
        }
    }
}

/// Replaces what is live whenever its files change.
#[derive(Debug)]
pub(crate) struct Reloader {
    loader: Arc<Loader>,
    stage: Stage,
    tls: TlsSwitch,
    fixed: Fixed,
    clock: Clock,
    reloads: Reloads,
    access_log: Option<AccessLog>,
    hangup: Signal,
    watch: Watch,
    /// The files of the last good load, and of the last try.
    served: Arc<Files>,
    tried: Arc<Files>,
}

/// What a [`Reloader`] works with.
pub(crate) struct Parts {
    pub(crate) loader: Loader,
    pub(crate) stage: Stage,
    pub(crate) tls: TlsSwitch,
    pub(crate) clock: Clock,
    /// The files that what is live came from.
    pub(crate) files: Files,
    /// What SIGHUP opens anew.
    pub(crate) access_log: Option<AccessLog>,
}

impl Reloader {
    /// Catches SIGHUP from now on. Call it inside a runtime.
    pub(crate) fn new(parts: Parts) -> io::Result<Self> {
        let Parts {
            loader,
            stage,
            tls,
            clock,
            files,
            access_log,
        } = parts;
        let reloads = Reloads::default();
        let served = Arc::new(files);
        reloads.change(|status| {
            status.generation = 1;
            status.checksum = checksum(&served);
            status.loaded_at = clock.now();
        });
        Ok(Self {
            loader: Arc::new(loader),
            fixed: Fixed::of(&stage.current().config),
            stage,
            tls,
            clock,
            reloads,
            access_log,
            hangup: signal(SignalKind::hangup())?,
            watch: Watch::new(),
            tried: served.clone(),
            served,
        })
    }

    /// Where its status is found.
    pub(crate) fn reloads(&self) -> &Reloads {
        &self.reloads
    }

    /// Reloads whenever there is a reason to.
    pub(crate) async fn run(mut self) -> Infallible {
        let mut looking = interval(LOOK_EVERY);
        looking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.follow();
        loop {
            tokio::select! {
                _ = self.hangup.recv() => self.load_on_request().await,
                () = self.watch.changed() => self.look(Noticed::Told).await,
                // The first tick comes at once: files may have changed since they were loaded.
                _ = looking.tick() => self.look(Noticed::Looked).await,
            }
        }
    }

    async fn load_on_request(&mut self) {
        // Whoever moves log files away says so by the same signal.
        if let Some(log) = &self.access_log {
            log.reopen();
        }
        tracing::info!(
            signal = "SIGHUP",
            policies = self.loader.source.name(),
            "reloading"
        );
        self.load(Noticed::Asked).await;
        self.look(Noticed::Looked).await;
    }

    /// Loads if files hold something else than at the last try.
    async fn look(&mut self, noticed: Noticed) {
        // Again where a folder is new, since something may have changed in it before it was watched. Not for ever, since folders may
        // never come to rest.
        for _ in 0..MOST_LOOKS {
            let tried = self.tried.clone();
            let Ok(found) = spawn_blocking(move || tried.look_again()).await else {
                return;
            };
            if found != self.tried.checksum() {
                self.load(noticed).await;
            }
            if !self.follow() {
                return;
            }
        }
    }

    async fn load(&mut self, noticed: Noticed) {
        supervisor::reloading();
        let loader = self.loader.clone();
        let loading = spawn_blocking(move || {
            let mut files = Files::default();
            let outcome = loader.load(&mut files);
            (outcome, files)
        });
        let Ok((outcome, files)) = loading.await else {
            tracing::error!("not reloaded: reading the files broke off, what was loaded before goes on");
            return supervisor::ready();
        };
        self.tried = Arc::new(files);
        match outcome {
            Ok(_) if self.tried.checksum() == self.served.checksum() => self.unchanged(),
            Ok(ready) => self.replace(ready, noticed),
            Err(error) => self.keep(&error),
        }
        supervisor::ready();
    }

    fn replace(&mut self, ready: Ready, noticed: Noticed) {
        let Ready { live, warnings, .. } = ready;
        warnings.iter().for_each(tell);
        let needs_restart = self.fixed.differing(&live.config);
        for setting in &needs_restart {
            tracing::warn!(setting, "this setting has changed and holds only after a restart");
        }
        let policies = live.config.policies.policies().len();
        self.tls.replace(&live.config.gateway.listen, &live.tls);
        self.stage.replace(live);
        self.served = self.tried.clone();
        let status = self.reloads.change(|status| {
            status.generation += 1;
            status.checksum = checksum(&self.served);
            status.loaded_at = self.clock.now();
            status.failure = None;
            status.needs_restart = needs_restart;
        });
        let (generation, checksum) = (status.generation, status.checksum.unwrap_or_default());
        tracing::info!(
            generation,
            checksum,
            policies,
            noticed = noticed.name(),
            "reloaded"
        );
    }

    fn unchanged(&self) {
        let status = self.reloads.change(|status| status.failure = None);
        let (generation, checksum) = (status.generation, status.checksum.unwrap_or_default());
        tracing::info!(
            generation,
            checksum,
            "nothing to reload: the files are as they are served"
        );
    }

    fn keep(&self, error: &BootError) {
        match error {
            BootError::Load(LoadError::Invalid(problems)) => problems.iter().for_each(tell),
            other => tracing::error!("{other}"),
        }
        let status = self.reloads.change(|status| {
            status.failures += 1;
            status.failure = Some(ReloadFailure {
                at: self.clock.now(),
                message: error.to_string(),
            });
        });
        tracing::error!(
            generation = status.generation,
            "not reloaded: the files cannot be used, what was loaded before goes on"
        );
    }

    /// Watches the files of the last try, and those served, which a broken file may not name.
    fn follow(&mut self) -> bool {
        self.watch
            .follow(self.tried.watched().chain(self.served.watched()))
    }
}

fn checksum(files: &Files) -> Option<String> {
    (!files.paths().is_empty()).then(|| files.checksum().short())
}

fn tell(problem: &Problem) {
    let (file, line, column, cure) = (problem.file(), problem.line, problem.column, &problem.cure);
    match problem.severity {
        Severity::Error => tracing::error!(file, line, column, cure, "{}", problem.message),
        Severity::Warning => tracing::warn!(file, line, column, cure, "{}", problem.message),
    }
}
