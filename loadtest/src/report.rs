//! The report of a run: counts, latencies and checks, computed from the log alone.

mod check;
mod group;
mod quantiles;
mod row;
mod table;

use std::time::Duration;

use serde::Serialize;

pub use check::Check;
pub use quantiles::Quantiles;
pub use row::Row;

use crate::driver::{CallError, CallOutcome, CallRecord, RunLog};
use crate::scenario::{Scenario, ScenarioEvent};
use crate::schedule::Schedule;

/// The report of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// The method and URL of the calls.
    pub call: String,
    /// The requested load.
    pub load: Load,
    /// The calls by outcome.
    pub calls: CallCounts,
    /// Completed calls per second, over the requested duration or, if it was later, until the last
    /// response.
    pub achieved_rate: f64,
    /// The total size of all response bodies in bytes.
    pub bytes_received: u64,
    /// The delay between a call's due time and the time at which a connection took it.
    ///
    /// It is the driver's own share of every latency. Large values mean too few connections.
    pub send_lag_ms: Quantiles,
    /// The calls by group, status and problem code.
    pub rows: Vec<Row>,
    /// The checks of the scenario.
    pub checks: Vec<Check>,
    /// Whether the run was stopped early.
    pub interrupted: bool,
}

/// The requested load.
#[derive(Debug, Serialize)]
pub struct Load {
    /// Calls per second.
    pub rate: u32,
    /// The duration in seconds.
    pub seconds: u64,
    /// The number of connections.
    pub connections: usize,
}

/// The number of calls by outcome. `due` is the sum of the others.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    /// Calls that became due.
    pub due: usize,
    /// Calls with a complete response of any status.
    pub completed: usize,
    /// Calls that were sent and have no complete response.
    pub failed: usize,
    /// Calls that were never sent, because all connections were busy until the run was over.
    pub not_sent: usize,
}

/// The facts about a run that are not in its log.
#[derive(Debug)]
pub struct RunInfo {
    /// The scenario.
    pub scenario: Scenario,
    /// The method and URL of the calls.
    pub call: String,
    /// The schedule.
    pub schedule: Schedule,
    /// The number of connections.
    pub connections: usize,
    /// The event caused by the scenario's script.
    pub event: ScenarioEvent,
    /// Whether the run was stopped early.
    pub interrupted: bool,
}

impl Report {
    /// Computes the report of a run.
    #[must_use]
    pub fn new(run: RunInfo, log: &RunLog) -> Self {
        let records = &log.records;
        let duration = if run.interrupted { Duration::ZERO } else { run.schedule.duration() };
        let send_lags = records.iter().map(|record| record.sent.saturating_sub(record.due));
        Self {
            scenario: run.scenario.as_str(),
            load: Load {
                rate: run.schedule.rate(),
                seconds: run.schedule.duration().as_secs(),
                connections: run.connections,
            },
            calls: CallCounts::new(records),
            achieved_rate: achieved_rate(records, duration),
            bytes_received: records.iter().map(body_bytes).sum(),
            send_lag_ms: Quantiles::new(send_lags),
            rows: row::rows(records, &run.event),
            checks: check::evaluate(run.scenario, &run.event, log),
            call: run.call,
            interrupted: run.interrupted,
        }
    }

    /// Returns true if all checks passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

impl CallCounts {
    fn new(records: &[CallRecord]) -> Self {
        let mut counts = Self { due: records.len(), ..Self::default() };
        for record in records {
            match record.outcome {
                CallOutcome::Completed { .. } => counts.completed += 1,
                CallOutcome::Failed(CallError::NotSent) => counts.not_sent += 1,
                CallOutcome::Failed(
                    CallError::Connect | CallError::NoResponse | CallError::Truncated | CallError::TimedOut,
                ) => counts.failed += 1,
            }
        }
        counts
    }
}

/// Returns completed calls per second, over `duration` or until the last response if that was
/// later.
fn achieved_rate(records: &[CallRecord], duration: Duration) -> f64 {
    let completed = records.iter().filter(|record| matches!(record.outcome, CallOutcome::Completed { .. }));
    let (calls, end) =
        completed.fold((0_u64, duration), |(calls, end), record| (calls + 1, end.max(record.done)));
    if end.is_zero() { 0.0 } else { calls as f64 / end.as_secs_f64() }
}

const fn body_bytes(record: &CallRecord) -> u64 {
    match record.outcome {
        CallOutcome::Completed { bytes, .. } => bytes,
        CallOutcome::Failed(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::CallKind;
    use shared::problem::Code;

    fn record(due_ms: u64, waited_ms: u64, took_ms: u64, outcome: CallOutcome) -> CallRecord {
        let millis = Duration::from_millis;
        CallRecord {
            kind: CallKind::Main,
            due: millis(due_ms),
            sent: millis(due_ms + waited_ms),
            done: millis(due_ms + waited_ms + took_ms),
            outcome,
        }
    }

    const OK: CallOutcome = CallOutcome::Completed { status: 200, code: None, retry_after: false, bytes: 10 };
    const DENIED: CallOutcome =
        CallOutcome::Completed { status: 429, code: Some(Code::QuotaExceeded), retry_after: true, bytes: 5 };

    #[test]
    fn latency_is_counted_from_due_time() {
        let rows = row::rows(&[record(100, 50, 1, OK)], &ScenarioEvent::None);
        assert!((rows[0].latency_ms.max - 51.0).abs() < 1e-9);
    }

    #[test]
    fn calls_are_grouped_by_status_and_code() {
        let failed = CallOutcome::Failed(CallError::TimedOut);
        let unsent = CallOutcome::Failed(CallError::NotSent);
        let records = [OK, DENIED, OK, failed, DENIED, OK, unsent].map(|outcome| record(0, 0, 1000, outcome));
        let rows = row::rows(&records, &ScenarioEvent::None);
        let counts: Vec<_> = rows.iter().map(|row| (row.status, row.code.as_deref(), row.calls)).collect();
        assert_eq!(
            counts,
            [
                (None, Some("not sent"), 1),
                (None, Some("timed out"), 1),
                (Some(200), None, 3),
                (Some(429), Some("quota-exceeded"), 2),
            ]
        );
        let expected = CallCounts { due: 7, completed: 5, failed: 1, not_sent: 1 };
        assert_eq!(CallCounts::new(&records), expected);
    }

    #[test]
    fn achieved_rate_falls_with_late_responses() {
        let burst = [record(0, 0, 100, OK), record(0, 0, 100, OK)];
        assert!((achieved_rate(&burst, Duration::from_secs(1)) - 2.0).abs() < 1e-9);
        let late = [record(0, 0, 100, OK), record(0, 0, 4000, OK)];
        assert!((achieved_rate(&late, Duration::from_secs(1)) - 0.5).abs() < 1e-9);
        assert!(achieved_rate(&[], Duration::ZERO).abs() < 1e-9);
    }
}
