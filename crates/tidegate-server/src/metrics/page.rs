//! A scrape in the making: one function for each kind of metric.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::count::{BUCKETS, Bounds, Reading};

/// A metric's name (without the ending that its kind adds) and what it tells.
pub(crate) type Named = (&'static str, &'static str);

/// A scrape in the making.
pub(crate) struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    /// Writes by `encoder`, as a collector gets it.
    pub(crate) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    pub(crate) fn counter(&mut self, named: Named, value: u64) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    /// A counter of something that is not whole.
    pub(crate) fn counter_of_seconds(&mut self, named: Named, value: f64) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    pub(crate) fn gauge(&mut self, named: Named, value: u64) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    /// A gauge of something that is not whole.
    pub(crate) fn gauge_of_seconds(&mut self, named: Named, value: f64) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    /// A gauge that is always 1, and tells by its labels.
    pub(crate) fn info(&mut self, named: Named, labels: [(&str, &str); 1]) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Gauge)?;
        metric.encode_family(&labels)?.encode_gauge(&1_u64)
    }

    /// A counter for each of `words`.
    pub(crate) fn counters(
        &mut self,
        (name, help): Named,
        label: &'static str,
        words: &[&str],
        value: impl Fn(&str) -> u64,
    ) -> fmt::Result {
        let mut family = self.family(name, help)?;
        for word in words {
            family.counter([(label, *word)], value(word))?;
        }
        match value(super::family::OTHER) {
            0 => Ok(()),
            other => family.counter([(label, super::family::OTHER)], other),
        }
    }

    /// Counters that differ in labels.
    pub(crate) fn family<'s>(
        &'s mut self,
        name: &'static str,
        help: &'static str,
    ) -> Result<Series<'s>, fmt::Error> {
        self.metric((name, help), MetricType::Counter).map(Series)
    }

    /// Gauges that differ in labels.
    pub(crate) fn gauges<'s>(
        &'s mut self,
        name: &'static str,
        help: &'static str,
    ) -> Result<Series<'s>, fmt::Error> {
        self.metric((name, help), MetricType::Gauge).map(Series)
    }

    pub(crate) fn histogram(&mut self, named: Named, bounds: &Bounds, reading: Reading) -> fmt::Result {
        let mut metric = self.metric(named, MetricType::Histogram)?;
        let mut buckets = [(f64::INFINITY, 0); BUCKETS + 1];
        for (index, bucket) in buckets.iter_mut().enumerate() {
            let bound = bounds.get(index).map_or(f64::INFINITY, |nanos| seconds(*nanos));
            *bucket = (bound, reading.buckets[index]);
        }
        let count = reading.buckets.iter().sum();
        metric.encode_histogram::<NoLabelSet>(seconds(reading.nanos), count, &buckets, None)
    }

    fn metric<'s>(
        &'s mut self,
        (name, help): Named,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }
}

/// Counters or gauges of one name.
pub(crate) struct Series<'a>(MetricEncoder<'a>);

impl Series<'_> {
    pub(crate) fn counter<const N: usize>(&mut self, labels: [(&str, &str); N], value: u64) -> fmt::Result {
        let mut metric = self.0.encode_family(&labels)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    pub(crate) fn gauge<const N: usize>(&mut self, labels: [(&str, &str); N], value: u64) -> fmt::Result {
        self.0.encode_family(&labels)?.encode_gauge(&value)
    }
}

/// How a scrape is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposition {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's own, version 0.0.4.
    Prometheus,
}

impl Exposition {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// `nanos` in seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
