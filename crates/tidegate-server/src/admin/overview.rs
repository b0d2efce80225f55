//! What can be seen of a process.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;
use tidegate_core::{Timestamp, Usage};
use tidegate_store::Redis;
use tidegate_store::redis::Figures;
use tokio::sync::Notify;

use super::told::Told;
use crate::access_log::AccessLog;
use crate::key_lookups::{KeyFigures, KeyLookups};
use crate::live::Live;
use crate::metrics::{Exposition, Metrics};
use crate::pipeline::Pipeline;
use crate::reload::{ReloadStatus, Reloads};

/// What can be seen of a process.
#[derive(Debug)]
pub struct Overview {
    pipeline: Arc<Pipeline<Redis>>,
    reloads: Reloads,
    access_log: Option<AccessLog>,
    started: Timestamp,
    phase: AtomicU8,
    left: Notify,
    /// When buckets were last counted, and how many there were.
    counted: Mutex<(Timestamp, usize)>,
}

/// How the shared store is.
pub(super) struct SharedStore {
    pub(super) decides: bool,
    pub(super) figures: Figures,
}

/// What a process is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It takes no requests yet.
    Starting,
    /// It takes requests.
    Serving,
    /// It takes no new requests and finishes those it has.
    Draining,
}

impl Phase {
    /// The word in the status.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}

/// How long a count of the buckets is good for, in nanoseconds: it looks at all of them.
const COUNT_EVERY: u64 = 1_000_000_000;

impl Overview {
    /// What is seen of `pipeline`, of `reloads`, and of what is written to `access_log`.
    pub fn new(pipeline: Arc<Pipeline<Redis>>, reloads: Reloads, access_log: Option<AccessLog>) -> Self {
        Self {
            started: pipeline.clock().now(),
            pipeline,
            reloads,
            access_log,
            phase: AtomicU8::new(Phase::Starting as u8),
            left: Notify::new(),
            counted: Mutex::new((Timestamp::from_nanos(0), 0)),
        }
    }

    /// The process is at `phase` from now on.
    pub fn enter(&self, phase: Phase) {
        // A word and nothing else: no other memory is read because of it.
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Another process has taken over: this one leaves the admin address to it.
    pub(crate) fn leave(&self) {
        self.left.notify_one();
    }

    /// Waits until another process has taken over.
    pub(crate) async fn left(&self) {
        self.left.notified().await;
    }

    /// What the process is at.
    pub fn phase(&self) -> Phase {
        let phases = [Phase::Starting, Phase::Serving, Phase::Draining];
        let phase = self.phase.load(Ordering::Relaxed);
        phases
            .into_iter()
            .find(|known| *known as u8 == phase)
            .unwrap_or(Phase::Draining)
    }

    /// Why requests should go elsewhere; None if they are welcome.
    pub fn unready(&self) -> Option<&'static str> {
        match self.phase() {
            Phase::Serving if self.live().fleet.is_ready() => None,
            Phase::Serving => Some("no upstream server is usable"),
            other => Some(other.word()),
        }
    }

    /// The access log, if there is one.
    pub fn access_log(&self) -> Option<&AccessLog> {
        self.access_log.as_ref()
    }

    /// All metrics.
    pub(super) fn metrics(self: &Arc<Self>, exposition: Exposition) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Told(self.clone())));
        let mut page = String::new();
        match exposition {
            Exposition::OpenMetrics => text::encode(&mut page, &registry)?,
            Exposition::Prometheus => prometheus_text::encode(&mut page, &registry)?,
        }
        Ok(page)
    }

    /// What is served, and how the last tries to replace it went.
    pub(super) fn reloads(&self) -> ReloadStatus {
        self.reloads.status()
    }

    pub(super) fn counts(&self) -> &Metrics {
        self.pipeline.stage().metrics()
    }

    pub(super) fn live(&self) -> Arc<Live> {
        self.pipeline.stage().current()
    }

    pub(super) fn started(&self) -> Timestamp {
        self.started
    }

    pub(super) fn now(&self) -> Timestamp {
        self.pipeline.clock().now()
    }

    pub(super) fn uptime_seconds(&self) -> u64 {
        let now = self.pipeline.clock().now().as_nanos();
        now.saturating_sub(self.started.as_nanos()) / 1_000_000_000
    }

    /// Requests that wait for their leaky bucket.
    pub(super) fn waiting(&self) -> u64 {
        self.pipeline.waiting() as u64
    }

    pub(super) fn usage(&self) -> Usage {
        self.pipeline.counters().memory().table().usage()
    }

    /// Whether the shared store decides, if there is one.
    pub(super) fn shared_store(&self) -> Option<SharedStore> {
        let counters = self.pipeline.counters();
        let (store, outage) = counters.store().zip(counters.outage())?;
        Some(SharedStore {
            decides: !outage.lasts(),
            figures: store.figures(),
        })
    }

    /// How API keys of the shared store were found, if there is one.
    pub(super) fn key_figures(&self) -> KeyFigures {
        let lookups = self.pipeline.key_lookups();
        lookups.map(KeyLookups::figures).unwrap_or_default()
    }

    /// Buckets in use, counted at most once a second.
    pub(super) fn live_buckets(&self) -> u64 {
        let now = self.pipeline.clock().now();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if now.as_nanos().saturating_sub(counted.0.as_nanos()) >= COUNT_EVERY {
            *counted = (now, self.pipeline.counters().memory().table().live_buckets(now));
        }
        counted.1 as u64
    }
}
