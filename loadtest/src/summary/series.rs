//! The run second by second.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use crate::record::{CallOutcome, CallRecord};

/// One second of a run. Calls belong to the second in which they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Second {
    /// The number of the second, from 0.
    pub(crate) second: u64,
    /// Calls whose response was complete within this second, whenever they were due.
    pub(crate) completed: u32,
    /// Calls that became due.
    pub(crate) due: u32,
    /// Calls with a 2xx or 3xx.
    pub(crate) success: u32,
    /// Calls with a 429.
    pub(crate) limited: u32,
    /// Calls with another 4xx.
    pub(crate) client_errors: u32,
    /// Calls with a 5xx.
    pub(crate) server_errors: u32,
    /// Calls without a complete response.
    pub(crate) failed: u32,
    /// Calls with a 2xx or 3xx that fails its check.
    pub(crate) check_failed: u32,
    /// The median latency in milliseconds.
    pub(crate) p50_ms: f64,
    /// The 99th percentile of latencies in milliseconds.
    pub(crate) p99_ms: f64,
    /// The maximum latency in milliseconds.
    pub(crate) max_ms: f64,
    /// The 99th percentile of send lags in milliseconds.
    pub(crate) lag_p99_ms: f64,
    /// The 99th percentile of the waits for a free connection in milliseconds.
    pub(crate) wait_p99_ms: f64,
    /// The resident memory of the driver in bytes, or 0 if unknown.
    pub(crate) memory: u64,
}

#[derive(Debug, Default)]
struct OpenSecond {
    counts: Second,
    latencies: Distribution,
    lags: Distribution,
    waits: Distribution,
}

/// The seconds of a run. Latencies of a second are kept until no call of it can be in flight.
#[derive(Debug)]
pub(crate) struct Series {
    open: BTreeMap<u64, OpenSecond>,
    closed: Vec<Second>,
    timeout: Duration,
    /// The completed calls by the second of their completion.
    completed: BTreeMap<u64, u32>,
    /// The memory of the driver by second.
    memory: BTreeMap<u64, u64>,
}

impl Series {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            open: BTreeMap::new(),
            closed: Vec::new(),
            timeout,
            completed: BTreeMap::new(),
            memory: BTreeMap::new(),
        }
    }

    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord) {
        let second = record.due.as_secs();
        if !self.open.contains_key(&second) {
            // Each open second holds all its latencies. Calls may come as late as their timeout.
            self.close_before(second.saturating_sub(self.timeout.as_secs() + 10));
        }
        let open = self.open.entry(second).or_default();
        open.counts.second = second;
        open.counts.due += 1;
        let count = match record.outcome {
            CallOutcome::Completed { status: ..400, failed_check: None, .. } => &mut open.counts.success,
            CallOutcome::Completed { status: ..400, .. } => &mut open.counts.check_failed,
            CallOutcome::Completed { status: 429, .. } => &mut open.counts.limited,
            CallOutcome::Completed { status: ..500, .. } => &mut open.counts.client_errors,
            CallOutcome::Completed { .. } => &mut open.counts.server_errors,
            CallOutcome::Failed(_) => &mut open.counts.failed,
        };
        *count += 1;
        open.latencies.record(record.latency());
        open.lags.record(record.send_lag());
        open.waits.record(record.waited);
        // By the second of the response, where all else is by the second in which the call was due.
        if record.status().is_some() {
            *self.completed.entry(record.done.as_secs()).or_default() += 1;
        }
    }

    /// Notes the memory of the driver.
    pub(crate) fn record_memory(&mut self, second: u64, bytes: u64) {
        self.memory.insert(second, bytes);
    }

    fn close_before(&mut self, second: u64) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < second) {
            self.closed.push(entry.remove().close());
        }
    }

    /// Returns all seconds in order.
    pub(crate) fn finish(mut self) -> Vec<Second> {
        self.close_before(u64::MAX);
        // A call that was later than its timeout opened its second again.
        self.closed.sort_by_key(|second| second.second);
        self.closed.dedup_by(|later, first| {
            let same = later.second == first.second;
            if same {
                first.add(later);
            }
            same
        });
        let after = self.closed.last().map_or(0, |last| last.second + 1);
        let end = self.completed.last_key_value().map_or(after, |(&second, _)| second + 1);
        self.closed.extend((after..end).map(|second| Second { second, ..Second::default() }));
        for second in &mut self.closed {
            second.completed = self.completed.get(&second.second).copied().unwrap_or(0);
            second.memory = self.memory.get(&second.second).copied().unwrap_or(0);
        }
        self.closed
    }
}

impl OpenSecond {
    fn close(self) -> Second {
        let [p50_ms, p99_ms, max_ms] = self.latencies.percentiles([50.0, 99.0, 100.0]);
        let [lag_p99_ms] = self.lags.percentiles([99.0]);
        let [wait_p99_ms] = self.waits.percentiles([99.0]);
        Second { p50_ms, p99_ms, max_ms, lag_p99_ms, wait_p99_ms, ..self.counts }
    }
}

impl Second {
    fn add(&mut self, late: &Self) {
        self.due += late.due;
        self.success += late.success;
        self.limited += late.limited;
        self.client_errors += late.client_errors;
        self.server_errors += late.server_errors;
        self.failed += late.failed;
        self.check_failed += late.check_failed;
        self.max_ms = self.max_ms.max(late.max_ms);
    }
}
