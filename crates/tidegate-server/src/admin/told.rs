//! A scrape: what was counted, and what things are like now.

mod shared;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::overview::Overview;
use crate::access_log::AccessLog;
use crate::logs;
use crate::metrics::{Page, process, seconds};
use crate::upstream::{Condition, Fleet, ServerReport};

/// An overview, told as metrics.
#[derive(Debug)]
pub(super) struct Told(pub(super) Arc<Overview>);

impl Collector for Told {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let overview = &*self.0;
        let page = &mut Page::new(encoder);
        overview.counts().tell(page)?;
        store(overview, page)?;
        upstreams(&overview.live().fleet, page)?;
        reloads(overview, page)?;
        page.gauge(
            (
                "tidegate_requests_waiting",
                "Requests that are held back by a leaky bucket",
            ),
            overview.waiting(),
        )?;
        page.gauge(
            ("tidegate_ready", "1 if requests are welcome, else 0"),
            u64::from(overview.unready().is_none()),
        )?;
        page.counters(
            (
                "tidegate_log_lines_lost",
                "Log lines dropped because their reader is too slow or gone",
            ),
            "log",
            &["process", "access"],
            |log| match log {
                "process" => logs::lost(),
                "access" => overview.access_log().map_or(0, AccessLog::lost),
                _ => 0,
            },
        )?;
        page.info(
            ("tidegate_build_info", "Always 1; the version is a label"),
            [("version", env!("CARGO_PKG_VERSION"))],
        )?;
        page.gauge_of_seconds(
            (
                "process_start_time_seconds",
                "When this process started, in seconds since 1970",
            ),
            seconds(overview.started().as_nanos()),
        )?;
        process(page)
    }
}

fn reloads(overview: &Overview, page: &mut Page<'_>) -> fmt::Result {
    let status = overview.reloads();
    page.gauge(
        (
            "tidegate_config_generation",
            "What is served: 1 is what the process started with, and each reload adds 1",
        ),
        status.generation,
    )?;
    page.gauge_of_seconds(
        (
            "tidegate_config_loaded_timestamp_seconds",
            "Since when it is served, in seconds since 1970",
        ),
        seconds(status.loaded_at.as_nanos()),
    )?;
    page.gauge(
        (
            "tidegate_config_last_reload_successful",
            "1 if the files as they are now are served, else 0",
        ),
        u64::from(status.failure.is_none()),
    )?;
    page.counter(
        (
            "tidegate_config_reload_failures",
            "Reloads that failed because the files cannot be used",
        ),
        status.failures,
    )
}

/// How API keys of the shared store are found.
fn stored_keys(overview: &Overview, page: &mut Page<'_>) -> fmt::Result {
    let figures = overview.key_figures();
    page.counters(
        (
            "tidegate_api_key_lookups",
            "Questions to the shared store about API keys, by what it said",
        ),
        "outcome",
        &["found", "absent", "broken", "failed"],
        |outcome| match outcome {
            "found" => figures.found,
            "absent" => figures.absent,
            "broken" => figures.broken,
            "failed" => figures.failed,
            _ => 0,
        },
    )?;
    page.counters(
        (
            "tidegate_api_key_answers",
            "Requests with an API key that is not in a file, by where it is known from that is not a question of their own",
        ),
        "source",
        &["remembered", "shared", "stale", "none", "crowded"],
        |source| match source {
            "remembered" => figures.remembered,
            "shared" => figures.shared,
            "stale" => figures.stale,
            "none" => figures.refused,
            "crowded" => figures.crowded,
            _ => 0,
        },
    )
}

fn store(overview: &Overview, page: &mut Page<'_>) -> fmt::Result {
    stored_keys(overview, page)?;
    shared::tell(overview.shared_store().as_ref(), page)?;
    let usage = overview.usage();
    page.gauge(
        (
            "tidegate_store_bucket_bytes",
            "Memory that is reserved for token and leaky buckets",
        ),
        usage.bucket_bytes as u64,
    )?;
    page.gauge(
        (
            "tidegate_store_buckets",
            "Token and leaky buckets that are not full, counted at most once a second",
        ),
        overview.live_buckets(),
    )?;
    page.gauge(
        (
            "tidegate_store_ledger_bytes",
            "Memory that windows, logs and slots take",
        ),
        usage.ledger_bytes as u64,
    )?;
    page.gauge(
        (
            "tidegate_store_ledger_entries",
            "Windows, logs and slots that are kept",
        ),
        usage.ledger_entries as u64,
    )?;
    page.counters(
        (
            "tidegate_store_evictions",
            "Counters that were forgotten before they were fresh again: the store is too small",
        ),
        "kind",
        &["bucket", "ledger"],
        |kind| match kind {
            "bucket" => usage.bucket_evictions,
            "ledger" => usage.ledger_evictions,
            _ => 0,
        },
    )
}

fn upstreams(fleet: &Fleet, page: &mut Page<'_>) -> fmt::Result {
    let mut states = page.gauges(
        "tidegate_upstream_server_state",
        "1 for what each server of an upstream is, 0 for what it is not",
    )?;
    for report in fleet.servers() {
        for condition in Condition::ALL {
            let labels = [
                ("upstream", report.upstream),
                ("server", report.server),
                ("state", condition.word()),
            ];
            states.gauge(labels, u64::from(report.condition == condition))?;
        }
    }
    type Of = fn(&ServerReport<'_>) -> u64;
    let counters: [(&str, &str, Of); 3] = [
        (
            "tidegate_upstream_server_requests",
            "Requests that each server was sent, each try counted",
            |report| report.requests,
        ),
        (
            "tidegate_upstream_server_failures",
            "Requests that each server failed",
            |report| report.failures,
        ),
        (
            "tidegate_upstream_server_ejections",
            "How often each server was left alone because it failed too often",
            |report| report.ejections,
        ),
    ];
    for (name, help, of) in counters {
        let mut family = page.family(name, help)?;
        for report in fleet.servers() {
            let labels = [("upstream", report.upstream), ("server", report.server)];
            family.counter(labels, of(&report))?;
        }
    }
    let mut family = page.family(
        "tidegate_upstream_retries",
        "Requests that were tried once more on another server",
    )?;
    for (upstream, retries) in fleet.retries() {
        family.counter([("upstream", upstream)], retries)?;
    }
    Ok(())
}
