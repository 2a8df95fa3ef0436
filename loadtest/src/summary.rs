//! The summary of a run: everything that reports and conditions need, computed call by call.

mod audit;
mod blocks;
mod distribution;
mod group;
mod latency_ranges;
mod recovery;
mod series;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use audit::{LimitCertificate, fullest_window};
pub(crate) use blocks::{Blocks, Interval, Values, difference_intervals};
pub(crate) use distribution::Quantiles;
pub(crate) use series::Second;

pub(crate) use distribution::{Distribution, HISTOGRAM_DIGITS};
pub(crate) use group::{GroupKey, OutcomeKey};
pub(crate) use latency_ranges::{LatencyRange, latency_ranges};
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
    /// The counts and times so far. What needs all calls is still missing.
    so_far: Summary,
    /// The time during which calls become due.
    window: Duration,
    audit: LimitAudit,
    series: Series,
    request_series: BTreeMap<u16, Series>,
    timeout: Duration,
    blocks: Option<Blocks>,
    recoveries: Recoveries,
}

/// The calls with the same request, phase and outcome.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) calls: u64,
    pub(crate) latencies: Distribution,
    /// Responses with `Retry-After`.
    pub(crate) retry_after: u64,
    pub(crate) streams: Streams,
}

/// The times of streams of server-sent events.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The times from due to the first event.
    pub(crate) first_event: Distribution,
    /// The longest time between two events of each stream.
    pub(crate) event_gap: Distribution,
    /// The number of streams by their number of events.
    pub(crate) by_events: BTreeMap<u32, u64>,
}

/// The summary of a run.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) groups: BTreeMap<GroupKey, Group>,
    /// The times between due and sent.
    pub(crate) send_lag: Distribution,
    /// The driver's own share of send lags.
    pub(crate) wake_lag: Distribution,
    /// The share of send lags in which no connection was free.
    pub(crate) connection_wait: Distribution,
    pub(crate) calls: u64,
    /// The calls that were sent while calls became due.
    sent_in_window: u64,
    /// Those of them that have a complete response.
    completed_in_window: u64,
    /// The total size of all response bodies in bytes.
    pub(crate) bytes: u64,
    /// The time at which the last call was due, or of the last response.
    end: Duration,
    pub(crate) certificate: LimitCertificate,
    pub(crate) series: Vec<Second>,
    /// The seconds of each request by its index, if there are several.
    pub(crate) request_series: BTreeMap<u16, Vec<Second>>,
    /// The calls in blocks of time, for comparisons.
    pub(crate) blocks: Option<Blocks>,
    pub(crate) recoveries: Vec<Recovery>,
}

impl SummaryBuilder {
    /// Returns an empty summary of calls that become due within `window` and have this timeout.
    pub(crate) fn new(window: Duration, timeout: Duration) -> Self {
        Self {
            so_far: Summary::default(),
            window,
            audit: LimitAudit::new(timeout),
            series: Series::new(timeout),
            request_series: BTreeMap::new(),
            timeout,
            // Without a length there are no equal parts of it.
            blocks: (window < Duration::MAX).then(|| Blocks::new(window)),
            recoveries: Recoveries::default(),
        }
    }

    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord, timeline: &Timeline) {
        let summary = &mut self.so_far;
        summary.calls += 1;
        if summary.calls == MAX_EXACT_CALLS {
            summary.compress();
        }
        let compressed = summary.is_compressed();
        // By both times: a call that was under way during an event belongs to it, whenever it was
        // due.
        let phase = timeline.phase_of(record.sent, record.done);
        let key = GroupKey { request: record.request, phase, outcome: OutcomeKey::new(record.outcome) };
        let group = summary.groups.entry(key).or_insert_with(|| Group::new(compressed));
        group.calls += 1;
        group.latencies.record(record.latency());
        group.streams.record(record);
        summary.send_lag.record(record.send_lag());
        summary.wake_lag.record(record.wake_lag());
        summary.connection_wait.record(record.waited);
        // The due time as well, because a run may end with calls that have no response.
        summary.end = summary.end.max(record.due);
        let in_window =
            record.sent < self.window && record.outcome != CallOutcome::Failed(CallError::NotSent);
        summary.sent_in_window += u64::from(in_window);
        if let CallOutcome::Completed { bytes, retry_after, .. } = record.outcome {
            // Calls that were sent while the run drains would raise the rate above what was
            // offered.
            summary.completed_in_window += u64::from(in_window);
            summary.bytes += u64::from(bytes);
            summary.end = summary.end.max(record.done);
            group.retry_after += u64::from(retry_after);
        }
        self.audit.record(record);
        self.series.record(record);
        let own = self.request_series.entry(record.request);
        own.or_insert_with(|| Series::new(self.timeout)).record(record);
        if let Some(blocks) = &mut self.blocks {
            blocks.record(record);
        }
        self.recoveries.record(record, timeline);
    }

    /// Notes the memory of the driver.
    pub(crate) fn record_memory(&mut self, second: u64, bytes: u64) {
        self.series.record_memory(second, bytes);
    }

    /// Returns the summary of the calls so far: groups and lags, without limit certificate, seconds
    /// and recoveries.
    pub(crate) const fn so_far(&self) -> &Summary {
        &self.so_far
    }

    /// Returns the summary of all calls.
    pub(crate) fn finish(self) -> Summary {
        Summary {
            certificate: self.audit.certificate(),
            series: self.series.finish(),
            // With one request it is the series of the run once more.
            request_series: if self.request_series.len() > 1 {
                self.request_series.into_iter().map(|(index, series)| (index, series.finish())).collect()
            } else {
                BTreeMap::new()
            },
            blocks: self.blocks,
            recoveries: self.recoveries.finish(),
            ..self.so_far
        }
    }
}

impl Streams {
    fn record(&mut self, record: &CallRecord) {
        let Some(stream) = record.stream() else { return };
        *self.by_events.entry(stream.events).or_default() += 1;
        if let Some(first) = record.first_event() {
            self.first_event.record(first);
        }
        // A stream of one event has no time between two.
        if stream.events > 1 {
            self.event_gap.record(stream.gap);
        }
    }

    /// Adds other streams.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.first_event.merge(&other.first_event);
        self.event_gap.merge(&other.event_gap);
        for (&events, &streams) in &other.by_events {
            *self.by_events.entry(events).or_default() += streams;
        }
    }

    fn compress(&mut self) {
        self.first_event.compress();
        self.event_gap.compress();
    }
}

impl Group {
    fn new(compressed: bool) -> Self {
        let mut group = Self::default();
        if compressed {
            group.compress();
        }
        group
    }

    fn compress(&mut self) {
        self.latencies.compress();
        self.streams.compress();
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

    /// Returns the streams of the groups that `select` accepts.
    pub(crate) fn streams(&self, select: impl Fn(&GroupKey) -> bool) -> Streams {
        let mut merged = Streams::default();
        self.groups(select).for_each(|(_, group)| merged.merge(&group.streams));
        merged
    }

    /// Returns the number of calls that were never sent.
    pub(crate) fn not_sent(&self) -> u64 {
        self.count(|key| key.outcome == OutcomeKey::Failed(CallError::NotSent))
    }

    /// Returns the time during which calls became due: the planned one, unless the run was stopped
    /// early.
    pub(crate) fn length(&self, planned: Duration, stopped: bool) -> Duration {
        if stopped { self.end.min(planned) } else { planned }
    }

    /// Returns the calls per second that were sent during `length`, in which calls became due.
    pub(crate) fn sent_rate(&self, length: Duration) -> f64 {
        per_second(self.sent_in_window, length)
    }

    /// Returns the calls per second that were sent during `length` and have a complete response.
    pub(crate) fn completed_rate(&self, length: Duration) -> f64 {
        per_second(self.completed_in_window, length)
    }

    fn compress(&mut self) {
        let lags = [&mut self.send_lag, &mut self.wake_lag, &mut self.connection_wait];
        lags.into_iter().for_each(Distribution::compress);
        self.groups.values_mut().for_each(Group::compress);
    }

    /// Returns true if quantiles are those of histograms.
    pub(crate) const fn is_compressed(&self) -> bool {
        self.calls >= MAX_EXACT_CALLS
    }
}

fn per_second(calls: u64, length: Duration) -> f64 {
    if length.is_zero() { 0.0 } else { calls as f64 / length.as_secs_f64() }
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
            waited: Duration::ZERO,
            done: sent + Duration::from_millis(1),
            outcome,
        }
    }

    /// Returns an outcome without a problem code.
    pub(crate) const fn status(status: u16) -> CallOutcome {
        CallOutcome::Completed {
            status,
            code: None,
            retry_after: status == 429,
            bytes: 10,
            minute_quota: 0,
            failed_check: None,
            stream: None,
        }
    }

    /// Returns the summary of calls.
    pub(crate) fn summary(records: impl IntoIterator<Item = CallRecord>, timeline: &Timeline) -> Summary {
        let mut builder = SummaryBuilder::new(Duration::MAX, Duration::from_secs(1));
        records.into_iter().for_each(|record| builder.record(&record, timeline));
        builder.finish()
    }

    #[test]
    fn latency_is_counted_from_due_time() {
        let mut late = call(100, status(200));
        late.sent += Duration::from_millis(50);
        late.done += Duration::from_millis(50);
        late.waited = Duration::from_millis(30);
        let summary = summary([late], &Timeline::default());
        let [max] = summary.latencies(|_| true).percentiles([100.0]);
        assert!((max - 51.0).abs() < 1e-9, "{max}");
        let lags = [&summary.send_lag, &summary.connection_wait, &summary.wake_lag];
        assert_eq!(lags.map(|lag| lag.percentiles([99.0])[0]), [50.0, 30.0, 20.0]);
    }

    /// A late response makes no rate lower, and calls that are sent late do.
    #[test]
    fn rates_count_calls_sent_in_time() {
        let second = Duration::from_secs(1);
        let rates = |calls: [CallRecord; 3]| {
            let mut builder = SummaryBuilder::new(second, second);
            calls.iter().for_each(|call| builder.record(call, &Timeline::default()));
            let summary = builder.finish();
            (summary.sent_rate(second), summary.completed_rate(second))
        };
        let good = call(0, status(200));
        assert_eq!(rates([good; 3]), (3.0, 3.0));
        let mut slow = good;
        slow.done = Duration::from_secs(40);
        assert_eq!(rates([good, good, slow]), (3.0, 3.0));
        let mut late = good;
        late.sent = Duration::from_secs(2);
        let failed = call(0, CallOutcome::Failed(CallError::TimedOut));
        let unsent = call(0, CallOutcome::Failed(CallError::NotSent));
        assert_eq!(rates([good, late, failed]), (2.0, 1.0));
        assert_eq!(rates([good, good, unsent]), (2.0, 2.0));
        assert_eq!(summary([], &Timeline::default()).sent_rate(Duration::ZERO), 0.0);
        let length = |stopped| summary([good], &Timeline::default()).length(second, stopped).as_millis();
        assert_eq!([length(false), length(true)], [1000, 1]);
    }

    #[test]
    fn seconds_count_calls_by_outcome() {
        let failed = CallOutcome::Failed(CallError::TimedOut);
        let calls = [status(200), status(429), status(404), status(503), failed];
        let records = (0..30_000).zip(calls.into_iter().cycle()).map(|(n, outcome)| call(n, outcome));
        let seconds = summary(records, &Timeline::default()).series;
        assert_eq!(seconds.len(), 30);
        for (number, second) in seconds.iter().enumerate() {
            assert_eq!((second.second, second.due, second.completed), (number as u64, 1000, 800));
            let counts =
                [second.success, second.limited, second.client_errors, second.server_errors, second.failed];
            assert_eq!(counts, [200; 5]);
        }
    }

    #[test]
    fn late_response_counts_in_the_second_of_its_completion() {
        let mut late = call(500, status(200));
        late.done = Duration::from_secs(3);
        let seconds = summary([call(0, status(200)), late], &Timeline::default()).series;
        let counts: Vec<_> = seconds.iter().map(|second| (second.due, second.completed)).collect();
        assert_eq!(counts, [(2, 1), (0, 0), (0, 0), (0, 1)]);
    }
}
