//! The summary of a run: everything that reports and conditions need, computed call by call.

mod audit;
mod distribution;
mod group;
mod recovery;
mod series;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use audit::LimitCertificate;
pub(crate) use distribution::Quantiles;
pub(crate) use series::Second;

pub(crate) use distribution::{Distribution, HISTOGRAM_DIGITS};
pub(crate) use group::{GroupKey, OutcomeKey};
pub(crate) use recovery::Recovery;

use audit::LimitAudit;
use recovery::Recoveries;
use series::Series;

use crate::record::{CallError, CallOutcome, CallRecord};
use crate::timeline::Timeline;

/// The number of calls up to which every latency is kept.
pub(crate) const MAX_EXACT_CALLS: u64 = 1_000_000;

/// The summary of a run while calls are added.
#[derive(Debug)]
pub(crate) struct SummaryBuilder {
    groups: BTreeMap<GroupKey, Group>,
    send_lag: Distribution,
    calls: u64,
    bytes: u64,
    end: Duration,
    audit: LimitAudit,
    series: Series,
    recoveries: Recoveries,
}

/// The calls with the same request, phase and outcome.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) calls: u64,
    pub(crate) latencies: Distribution,
    /// Responses with `Retry-After`.
    pub(crate) retry_after: u64,
}

/// The summary of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) groups: BTreeMap<GroupKey, Group>,
    pub(crate) send_lag: Distribution,
    pub(crate) calls: u64,
    /// The total size of all response bodies in bytes.
    pub(crate) bytes: u64,
    /// The time of the last response.
    pub(crate) end: Duration,
    pub(crate) certificate: LimitCertificate,
    pub(crate) series: Vec<Second>,
    pub(crate) recoveries: Vec<Recovery>,
}

impl SummaryBuilder {
    /// Returns an empty summary of calls with this timeout.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            groups: BTreeMap::new(),
            send_lag: Distribution::default(),
            calls: 0,
            bytes: 0,
            end: Duration::ZERO,
            audit: LimitAudit::new(timeout),
            series: Series::new(timeout),
            recoveries: Recoveries::default(),
        }
    }

    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord, timeline: &Timeline) {
        self.calls += 1;
        if self.calls == MAX_EXACT_CALLS {
            self.compress();
        }
        let compressed = self.calls >= MAX_EXACT_CALLS;
        let phase = timeline.phase_of(record.sent, record.done);
        let key = GroupKey { request: record.request, phase, outcome: OutcomeKey::new(record.outcome) };
        let group = self.groups.entry(key).or_insert_with(|| Group::new(compressed));
        group.calls += 1;
        group.latencies.record(record.latency());
        self.send_lag.record(record.send_lag());
        if let CallOutcome::Completed { bytes, retry_after, .. } = record.outcome {
            self.bytes += u64::from(bytes);
            self.end = self.end.max(record.done);
            group.retry_after += u64::from(retry_after);
        }
        self.audit.record(record);
        self.series.record(record);
        self.recoveries.record(record, timeline);
    }

    /// Notes the memory of the driver.
    pub(crate) fn record_memory(&mut self, second: u64, bytes: u64) {
        self.series.record_memory(second, bytes);
    }

    fn compress(&mut self) {
        self.send_lag.compress();
        self.groups.values_mut().for_each(|group| group.latencies.compress());
    }

    /// Returns the summary of all calls.
    pub(crate) fn finish(self) -> Summary {
        Summary {
            groups: self.groups,
            send_lag: self.send_lag,
            calls: self.calls,
            bytes: self.bytes,
            end: self.end,
            certificate: self.audit.certificate(),
            series: self.series.finish(),
            recoveries: self.recoveries.finish(),
        }
    }
}

impl Group {
    fn new(compressed: bool) -> Self {
        let mut group = Self::default();
        if compressed {
            group.latencies.compress();
        }
        group
    }
}

impl Summary {
    /// Returns the groups that `select` accepts.
    pub(crate) fn groups(
        &self,
        select: impl Fn(&GroupKey) -> bool,
    ) -> impl Iterator<Item = (&GroupKey, &Group)> {
        self.groups.iter().filter(move |(key, _)| select(key))
    }

    /// Returns the number of calls of the groups that `select` accepts.
    pub(crate) fn count(&self, select: impl Fn(&GroupKey) -> bool) -> u64 {
        self.groups(select).map(|(_, group)| group.calls).sum()
    }

    /// Returns the latencies of the groups that `select` accepts.
    pub(crate) fn latencies(&self, select: impl Fn(&GroupKey) -> bool) -> Distribution {
        let mut merged = Distribution::default();
        self.groups(select).for_each(|(_, group)| merged.merge(&group.latencies));
        merged
    }

    /// Returns the number of calls that were never sent.
    pub(crate) fn not_sent(&self) -> u64 {
        self.count(|key| key.outcome == OutcomeKey::Failed(CallError::NotSent))
    }

    /// Returns completed calls per second, over `duration` or, if it was later, until the last
    /// response.
    pub(crate) fn achieved_rate(&self, duration: Duration) -> f64 {
        let completed = self.count(|key| key.outcome.status().is_some());
        let end = self.end.max(duration);
        if end.is_zero() { 0.0 } else { completed as f64 / end.as_secs_f64() }
    }

    /// Returns true if quantiles are those of histograms.
    pub(crate) const fn is_compressed(&self) -> bool {
        self.calls >= MAX_EXACT_CALLS
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::NO_KEY;

    /// Returns a record of a call that took one millisecond.
    pub(crate) fn call(at_ms: u64, outcome: CallOutcome) -> CallRecord {
        let sent = Duration::from_millis(at_ms);
        CallRecord {
            request: 0,
            key: NO_KEY,
            due: sent,
            sent,
            done: sent + Duration::from_millis(1),
            outcome,
        }
    }

    /// Returns an outcome without a problem code.
    pub(crate) const fn status(status: u16) -> CallOutcome {
        CallOutcome::Completed { status, code: None, retry_after: status == 429, bytes: 10, minute_quota: 0 }
    }

    /// Returns the summary of calls.
    pub(crate) fn summary(records: impl IntoIterator<Item = CallRecord>, timeline: &Timeline) -> Summary {
        let mut builder = SummaryBuilder::new(Duration::from_secs(1));
        records.into_iter().for_each(|record| builder.record(&record, timeline));
        builder.finish()
    }

    #[test]
    fn latency_is_counted_from_due_time() {
        let mut late = call(100, status(200));
        late.sent += Duration::from_millis(50);
        late.done += Duration::from_millis(50);
        let summary = summary([late], &Timeline::default());
        let [max] = summary.latencies(|_| true).percentiles([100.0]);
        assert!((max - 51.0).abs() < 1e-9, "{max}");
        assert!((summary.send_lag.percentiles([99.0])[0] - 50.0).abs() < 1e-9);
    }

    #[test]
    fn achieved_rate_falls_with_late_responses() {
        let second = Duration::from_secs(1);
        let rate = |calls: [CallRecord; 2]| summary(calls, &Timeline::default()).achieved_rate(second);
        let mut late = call(0, status(200));
        assert!((rate([late, late]) - 2.0).abs() < 1e-9);
        late.done = Duration::from_secs(4);
        assert!((rate([call(0, status(200)), late]) - 0.5).abs() < 1e-9);
        assert!(summary([], &Timeline::default()).achieved_rate(Duration::ZERO).abs() < 1e-9);
    }

    #[test]
    fn seconds_count_calls_by_outcome() {
        let failed = CallOutcome::Failed(CallError::TimedOut);
        let calls = [status(200), status(429), status(404), status(503), failed];
        let records = (0..30_000).zip(calls.into_iter().cycle()).map(|(n, outcome)| call(n, outcome));
        let seconds = summary(records, &Timeline::default()).series;
        assert_eq!(seconds.len(), 30);
        for (number, second) in seconds.iter().enumerate() {
            assert_eq!((second.second, second.due), (number as u64, 1000));
            let counts =
                [second.success, second.limited, second.client_errors, second.server_errors, second.failed];
            assert_eq!(counts, [200; 5]);
        }
    }
}
