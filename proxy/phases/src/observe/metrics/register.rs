//! Metrics that are known to the registry from the moment they exist.

use prometheus::core::Collector;
use prometheus::{
    Error, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};
use strum::VariantArray;

/// A factory that registers what it makes. Two metrics of one name are an error.
pub(super) struct Register<'a>(pub(super) &'a Registry);

impl Register<'_> {
    fn register<C: Collector + Clone + 'static>(&self, metric: C) -> Result<C, Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    pub(super) fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        self.register(IntCounter::new(name, help)?)
    }

    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, Error> {
        self.register(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    /// Registers one counter for each variant of an enum, which is the value of the label.
    pub(super) fn variant_counters<E>(
        &self,
        name: &str,
        help: &str,
        label: &str,
    ) -> Result<VariantCounters<E>, Error>
    where
        E: VariantArray + Copy + Into<&'static str>,
    {
        let counters = self.counters(name, help, &[label])?;
        let counter = |&variant: &E| (variant, counters.with_label_values(&[variant.into()]));
        Ok(VariantCounters(E::VARIANTS.iter().map(counter).collect()))
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, Error> {
        self.register(IntGauge::new(name, help)?)
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, Error> {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Registers a histogram. `buckets` are upper bounds in seconds.
    pub(super) fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Result<Histogram, Error> {
        self.register(Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets.to_vec()))?)
    }

    /// Registers one histogram for each combination of labels.
    pub(super) fn histograms(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> Result<HistogramVec, Error> {
        self.register(HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?)
    }
}

/// One counter for each variant of an enum.
pub struct VariantCounters<E>(Box<[(E, IntCounter)]>);

impl<E: PartialEq> VariantCounters<E> {
    pub fn inc(&self, variant: E) {
        self.inc_by(variant, 1);
    }

    pub fn inc_by(&self, variant: E, count: u64) {
        if let Some((_, counter)) = self.0.iter().find(|(other, _)| *other == variant) {
            counter.inc_by(count);
        }
    }
}

/// Converts a count to the value of a gauge.
pub(super) fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
