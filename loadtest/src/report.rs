//! The report of a run: counts, latencies and checks.

mod csv;
mod end;
mod junit;
mod knee_step;
mod row;
mod table;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use row::Row;

pub(crate) use csv::to_csv;
pub(crate) use end::{RunEnd, Verdict};
pub(crate) use junit::to_junit;
pub(crate) use knee_step::KneeStep;

use crate::books::Books;
use crate::costs::Costs;
use crate::record::{CallError, CheckSample};
use crate::summary::{
    Blocks, HISTOGRAM_DIGITS, LatencyRange, LimitCertificate, OutcomeKey, Quantiles, Second, Summary,
    latency_ranges,
};
use crate::timeline::Timeline;
use crate::verdict::{Check, CriteriaText};

/// The facts of a run that are known before it starts. They are the header of the raw log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunInfo {
    /// The version of this program.
    pub(crate) version: String,
    /// The name of the scenario.
    pub(crate) scenario: String,
    /// The load and the events in a sentence.
    pub(crate) about: String,
    /// The expectation that a passing run proves.
    pub(crate) proves: String,
    /// The URL of the gateway.
    pub(crate) target: String,
    /// The names of the requests by index.
    pub(crate) requests: Vec<String>,
    /// The stages of the load.
    pub(crate) stages: Vec<String>,
    /// The number of connections.
    pub(crate) connections: u16,
    /// The concurrent calls on each connection.
    pub(crate) streams: u16,
    /// The protocol, such as `HTTP/1.1`.
    pub(crate) protocol: String,
    /// The part of several drivers, such as `2/5`.
    pub(crate) shard: String,
    /// The time during which calls become due, in seconds.
    pub(crate) seconds: f64,
    /// The number of scheduled calls of this part.
    pub(crate) scheduled: u64,
    /// The timeout of a call in seconds.
    pub(crate) timeout_s: f64,
    /// The beginning, in milliseconds since 1970.
    pub(crate) started_unix_ms: u64,
    /// True if other drivers of the same run have the same keys.
    pub(crate) shared_keys: bool,
    /// The criteria of the run.
    pub(crate) criteria: CriteriaText,
    /// The method and the path of each request by index.
    pub(crate) paths: Vec<String>,
    /// The command line, without credentials.
    pub(crate) command: String,
    /// The machine of the driver.
    pub(crate) machine: String,
    /// The version of the gateway, if `--metrics` names it.
    pub(crate) gateway_version: Option<String>,
}

/// The facts of a run that are known at its end, beside its calls. They are the trailer of the raw log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunOutcome {
    pub(crate) timeline: Timeline,
    pub(crate) checks: Vec<Check>,
    pub(crate) books: Option<Books>,
    pub(crate) costs: Option<Costs>,
    pub(crate) end: RunEnd,
    /// The first response of each request that failed a check.
    #[serde(default)]
    pub(crate) samples: Vec<CheckSample>,
    /// What a reader must know of how the run was made, such as drivers that began apart.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// The report of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The facts of the run.
    pub(crate) run: RunInfo,
    /// True if all checks passed and the run was complete.
    pub(crate) passed: bool,
    /// The checks.
    pub(crate) checks: Vec<Check>,
    /// The calls by outcome.
    pub(crate) calls: CallCounts,
    /// Calls per second that were sent while calls became due.
    pub(crate) achieved_rate: f64,
    /// Those of them per second that have a complete response.
    pub(crate) completed_rate: f64,
    /// The total size of all response bodies in bytes.
    pub(crate) bytes_received: u64,
    /// The latencies of all calls, counted from the due time of each.
    pub(crate) latency_ms: Quantiles,
    /// The latencies of all calls in ranges of equal ratio.
    pub(crate) histogram: Vec<LatencyRange>,
    /// The delay between a call's due time and the time at which a connection took it. It is a part
    /// of every latency.
    pub(crate) send_lag_ms: Quantiles,
    /// The driver's own share of the send lag: it woke up late.
    pub(crate) wake_lag_ms: Quantiles,
    /// The share of the send lag in which no connection was free.
    pub(crate) connection_wait_ms: Quantiles,
    /// The maximum error of quantiles: 0 up to a million calls, then that of the histograms.
    pub(crate) quantile_error: f64,
    /// The calls by request, phase, status and problem code.
    pub(crate) rows: Vec<Row>,
    /// The first response of each request that failed a check.
    pub(crate) samples: Vec<CheckSample>,
    /// The events.
    pub(crate) events: Vec<Event>,
    /// The limit certificate.
    pub(crate) limits: LimitCertificate,
    /// The books, if the gateway or the tools were asked.
    pub(crate) books: Option<Books>,
    /// The operations and dollars of a local edge, if it was asked.
    pub(crate) costs: Option<Costs>,
    /// What a reader must know of how the run was made.
    pub(crate) notes: Vec<String>,
    /// The run second by second.
    pub(crate) series: Vec<Second>,
    /// The seconds of each request, if there are several.
    pub(crate) request_series: Vec<RequestSeries>,
    /// The calls in blocks of time, for `compare`.
    pub(crate) blocks: Option<Blocks>,
    /// The steps of a search for the knee.
    pub(crate) steps: Vec<KneeStep>,
    /// The end of the run.
    pub(crate) end: RunEnd,
}

/// The seconds of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestSeries {
    /// The request.
    pub(crate) request: String,
    /// Its seconds.
    pub(crate) series: Vec<Second>,
}

/// The number of calls by outcome. `due` is the sum of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallCounts {
    /// Calls that became due.
    pub(crate) due: u64,
    /// Calls with a 2xx or 3xx.
    pub(crate) success: u64,
    /// Calls with a 2xx or 3xx that fails its check.
    pub(crate) check_failed: u64,
    /// Calls with a complete response of any status.
    pub(crate) completed: u64,
    /// Calls that were sent and have no complete response.
    pub(crate) failed: u64,
    /// Calls that were never sent, because all connections were busy until the run was over.
    pub(crate) not_sent: u64,
}

/// An event and how requests recovered from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    /// The name of the phase that followed.
    pub(crate) phase: String,
    /// The time in seconds.
    pub(crate) at_s: f64,
    /// The recovery of each request.
    pub(crate) recoveries: Vec<EventRecovery>,
}

/// The recovery of a request from an event. Times are in seconds since the event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventRecovery {
    /// The request.
    pub(crate) request: String,
    /// The first failure.
    pub(crate) first_failure_s: Option<f64>,
    /// The last failure.
    pub(crate) last_failure_s: Option<f64>,
    /// The first good response.
    pub(crate) first_good_s: Option<f64>,
}

impl Report {
    /// Computes the report of a run.
    pub(crate) fn new(run: RunInfo, outcome: RunOutcome, summary: &Summary) -> Self {
        let length = summary.length(Duration::from_secs_f64(run.seconds), outcome.end.is_early());
        let latencies = summary.latencies(|_| true);
        let passed = outcome.checks.iter().all(|check| check.passed);
        Self {
            // A run that was cut short may have failed later: its checks saw only a part.
            passed: passed && outcome.end == RunEnd::Planned,
            checks: outcome.checks,
            calls: CallCounts::new(summary),
            achieved_rate: summary.sent_rate(length),
            completed_rate: summary.completed_rate(length),
            bytes_received: summary.bytes,
            latency_ms: latencies.quantiles(),
            histogram: latency_ranges(&latencies),
            send_lag_ms: summary.send_lag.quantiles(),
            wake_lag_ms: summary.wake_lag.quantiles(),
            connection_wait_ms: summary.connection_wait.quantiles(),
            quantile_error: if summary.is_compressed() {
                10_f64.powi(-i32::from(HISTOGRAM_DIGITS))
            } else {
                0.0
            },
            rows: row::rows(summary, &outcome.timeline, &run.requests),
            samples: outcome.samples,
            events: events(summary, &outcome.timeline, &run.requests),
            limits: summary.certificate.clone(),
            books: outcome.books,
            costs: outcome.costs,
            notes: outcome.notes,
            series: summary.series.clone(),
            request_series: request_series(summary, &run.requests),
            blocks: summary.blocks.clone(),
            steps: Vec::new(),
            end: outcome.end,
            run,
        }
    }

    /// Returns the verdict on the run.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.end {
            RunEnd::Interrupted => Verdict::Interrupted,
            RunEnd::Broken(_) => Verdict::Broken,
            RunEnd::Planned if self.passed => Verdict::Passed,
            RunEnd::Planned | RunEnd::Aborted(_) => Verdict::Failed,
        }
    }
}

impl CallCounts {
    fn new(summary: &Summary) -> Self {
        let completed = summary.count(|key| key.outcome.status().is_some());
        let not_sent = summary.not_sent();
        Self {
            due: summary.calls,
            success: summary.count(|key| key.outcome.is_success()),
            check_failed: summary.count(|key| key.outcome.failed_check().is_some()),
            completed,
            failed: summary
                .count(|key| matches!(key.outcome, OutcomeKey::Failed(error) if error != CallError::NotSent)),
            not_sent,
        }
    }
}

fn request_series(summary: &Summary, requests: &[String]) -> Vec<RequestSeries> {
    let series = summary.request_series.iter();
    series
        .map(|(&index, series)| RequestSeries {
            request: requests.get(usize::from(index)).cloned().unwrap_or_default(),
            series: series.clone(),
        })
        .collect()
}

fn events(summary: &Summary, timeline: &Timeline, requests: &[String]) -> Vec<Event> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let recoveries = |event| {
        let of_event = summary.recoveries.iter().filter(move |recovery| recovery.event == event);
        of_event.map(|recovery| EventRecovery {
            request: requests.get(usize::from(recovery.request)).cloned().unwrap_or_default(),
            first_failure_s: seconds(recovery.first_bad),
            last_failure_s: seconds(recovery.last_bad),
            first_good_s: seconds(recovery.first_good),
        })
    };
    let marks = timeline.marks.iter().enumerate();
    marks
        .map(|(number, mark)| Event {
            phase: mark.phase.clone(),
            at_s: mark.at.as_secs_f64(),
            recoveries: recoveries(number).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CallOutcome;
    use crate::summary::tests::{call, status, summary};

    #[test]
    fn calls_are_grouped_by_status_and_code() {
        let failed = CallOutcome::Failed(CallError::TimedOut);
        let unsent = CallOutcome::Failed(CallError::NotSent);
        let outcomes = [status(200), status(429), status(200), failed, status(429), status(200), unsent];
        let summary = summary(outcomes.map(|outcome| call(0, outcome)), &Timeline::default());
        let info = RunInfo { requests: vec!["main".to_owned()], seconds: 1.0, ..RunInfo::default() };
        let report = Report::new(info, RunOutcome::default(), &summary);
        let rows: Vec<_> =
            report.rows.iter().map(|row| (row.status, row.code.as_deref(), row.calls)).collect();
        let expected = [
            (None, Some("not sent"), 1),
            (None, Some("timed out"), 1),
            (Some(200), None, 3),
            (Some(429), None, 2),
        ];
        assert_eq!(rows, expected);
        let counts = CallCounts { due: 7, success: 3, check_failed: 0, completed: 5, failed: 1, not_sent: 1 };
        assert_eq!(report.calls, counts);
        assert_eq!(report.bytes_received, 50);
        let csv = to_csv(&report);
        assert!(csv.starts_with("second,due,success,"), "{csv}");
        assert_eq!(csv.lines().count(), 2, "{csv}");
    }
}
