//! What a run amounts to: counts, latencies, and whether what the scenario expects held. Computed from the log
//! alone, so that every number can be tested.

mod expectation;
mod line;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use shared::problem::Code;

pub use expectation::Verdict;

use crate::driver::{Failure, Log, Outcome, Record};
use crate::plan::Pace;
use crate::scenario::{Moments, Scenario};
use line::Line;

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: &'static str,
    /// What was called: method and URL.
    pub call: String,
    /// What was asked for.
    pub asked: Asked,
    /// What became of it.
    pub calls: Calls,
    /// Answers a second, over the time that was asked for or, if the last answer came later, until then.
    pub achieved_rate: f64,
    /// Bytes of bodies received.
    pub bytes_received: u64,
    /// From when a call was due to when a connection took it. It is the driver's own share of every latency; large,
    /// it says that there were too few connections.
    pub send_lag_ms: Quantiles,
    /// Calls by line, status and problem code.
    pub rows: Vec<Row>,
    /// What the scenario expects, and whether it held.
    pub verdicts: Vec<Verdict>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
}

/// The load that was asked for.
#[derive(Debug, Serialize)]
pub struct Asked {
    /// Calls a second.
    pub rate: u32,
    /// Seconds.
    pub seconds: u64,
    /// Connections.
    pub connections: usize,
}

/// Calls by how they ended. `due` is the sum of the others.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Those whose moment came.
    pub due: usize,
    /// With an answer, whatever its status.
    pub answered: usize,
    /// Without one.
    pub failed: usize,
    /// Not even sent, since all connections were busy until the run was over.
    pub not_sent: usize,
}

/// Calls that ended alike.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Which line of calls, where a scenario has several.
    pub line: &'static str,
    /// The status; none where there was no answer.
    pub status: Option<u16>,
    /// The problem's code, or why there was no answer.
    pub code: Option<&'static str>,
    /// How many.
    pub calls: usize,
    /// How long they took, counted from the moment each was due.
    pub latency_ms: Quantiles,
}

/// The latency that half, nine tenths, 99 % and all of the calls did not exceed, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// Nine tenths.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// The worst.
    pub max: f64,
}

/// The circumstances of a run that its report repeats.
#[derive(Debug)]
pub struct Circumstances {
    /// Which scenario.
    pub scenario: Scenario,
    /// What was called.
    pub call: String,
    /// How often.
    pub pace: Pace,
    /// Over how many connections.
    pub connections: usize,
    /// What happened meanwhile.
    pub moments: Moments,
    /// Whether it was stopped early.
    pub interrupted: bool,
}

impl Report {
    /// Works out what a log amounts to.
    #[must_use]
    pub fn new(run: Circumstances, log: &Log) -> Self {
        Self {
            scenario: run.scenario.as_str(),
            asked: Asked {
                rate: run.pace.rate(),
                seconds: run.pace.length().as_secs(),
                connections: run.connections,
            },
            calls: count(&log.records),
            achieved_rate: achieved_rate(
                &log.records,
                if run.interrupted { Duration::ZERO } else { run.pace.length() },
            ),
            bytes_received: log.records.iter().map(bytes).sum(),
            send_lag_ms: Quantiles::of(
                log.records.iter().map(|record| record.sent.saturating_sub(record.due)),
            ),
            rows: rows(&log.records, &run.moments),
            verdicts: expectation::judge(run.scenario, &run.moments, log),
            call: run.call,
            interrupted: run.interrupted,
        }
    }

    /// Whether everything that the scenario expects held.
    #[must_use]
    pub fn held(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.held)
    }
}

impl Quantiles {
    /// By nearest rank, exact: a quantile is the time of one of the calls.
    fn of(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let at = |share: usize| {
            let rank = (times.len() * share).div_ceil(100).saturating_sub(1);
            times.get(rank).map_or(0.0, millis)
        };
        Self { p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}

/// Milliseconds to the microsecond; more than 71 minutes are told as 71 minutes.
fn millis(time: &Duration) -> f64 {
    f64::from(u32::try_from(time.as_micros()).unwrap_or(u32::MAX)) / 1000.0
}

fn count(records: &[Record]) -> Calls {
    let mut calls = Calls { due: records.len(), ..Calls::default() };
    for record in records {
        match record.outcome {
            Outcome::Answered { .. } => calls.answered += 1,
            Outcome::Failed(Failure::NotSent) => calls.not_sent += 1,
            Outcome::Failed(Failure::Connect | Failure::NoAnswer | Failure::CutOff | Failure::Timeout) => {
                calls.failed += 1
            }
        }
    }
    calls
}

fn achieved_rate(records: &[Record], asked: Duration) -> f64 {
    let answered = records.iter().filter(|record| matches!(record.outcome, Outcome::Answered { .. }));
    let (calls, last) =
        answered.fold((0_u64, asked), |(calls, last), record| (calls + 1, last.max(record.done)));
    if last.is_zero() { 0.0 } else { calls as f64 / last.as_secs_f64() }
}

const fn bytes(record: &Record) -> u64 {
    match record.outcome {
        Outcome::Answered { bytes, .. } => bytes,
        Outcome::Failed(_) => 0,
    }
}

fn rows(records: &[Record], moments: &Moments) -> Vec<Row> {
    let mut groups: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
    for record in records {
        let (status, code) = match record.outcome {
            Outcome::Answered { status, code, .. } => (Some(status), code.map(Code::as_str)),
            Outcome::Failed(failure) => (None, Some(failure.as_str())),
        };
        groups.entry((Line::of(record, moments), status, code)).or_default().push(record.latency());
    }
    groups
        .into_iter()
        .map(|((line, status, code), latencies)| Row {
            line: line.as_str(),
            status,
            code,
            calls: latencies.len(),
            latency_ms: Quantiles::of(latencies.into_iter()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Stream;

    fn record(due_ms: u64, waited_ms: u64, took_ms: u64, outcome: Outcome) -> Record {
        let millis = Duration::from_millis;
        Record {
            stream: Stream::Main,
            due: millis(due_ms),
            sent: millis(due_ms + waited_ms),
            done: millis(due_ms + waited_ms + took_ms),
            outcome,
        }
    }

    const OK: Outcome = Outcome::Answered { status: 200, code: None, retry_after: false, bytes: 10 };
    const DENIED: Outcome =
        Outcome::Answered { status: 429, code: Some(Code::QuotaExceeded), retry_after: true, bytes: 5 };

    #[test]
    fn a_quantile_is_the_time_that_this_share_of_calls_did_not_exceed() {
        let quantiles = Quantiles::of((1..=200).rev().map(Duration::from_millis));
        assert_eq!(quantiles, Quantiles { p50: 100.0, p90: 180.0, p99: 198.0, max: 200.0 });
        assert_eq!(Quantiles::of([].into_iter()), Quantiles::default());
        let one = Quantiles::of([Duration::from_millis(7)].into_iter());
        assert_eq!(one, Quantiles { p50: 7.0, p90: 7.0, p99: 7.0, max: 7.0 });
    }

    #[test]
    fn latency_counts_from_when_a_call_was_due_not_from_when_it_was_sent() {
        let rows = rows(&[record(100, 50, 1, OK)], &Moments::Quiet);
        assert!((rows[0].latency_ms.max - 51.0).abs() < 1e-9);
    }

    #[test]
    fn calls_are_counted_by_status_and_code_and_add_up() {
        let failed = Outcome::Failed(Failure::Timeout);
        let unsent = Outcome::Failed(Failure::NotSent);
        let records = [OK, DENIED, OK, failed, DENIED, OK, unsent].map(|outcome| record(0, 0, 1000, outcome));
        let told: Vec<_> =
            rows(&records, &Moments::Quiet).iter().map(|row| (row.status, row.code, row.calls)).collect();
        assert_eq!(
            told,
            [
                (None, Some("not sent"), 1),
                (None, Some("timed out"), 1),
                (Some(200), None, 3),
                (Some(429), Some("quota-exceeded"), 2),
            ]
        );
        assert_eq!(count(&records), Calls { due: 7, answered: 5, failed: 1, not_sent: 1 });
    }

    #[test]
    fn the_achieved_rate_is_never_above_the_one_asked_for_and_falls_with_late_answers() {
        let burst = [record(0, 0, 100, OK), record(0, 0, 100, OK)];
        assert!((achieved_rate(&burst, Duration::from_secs(1)) - 2.0).abs() < 1e-9);
        let late = [record(0, 0, 100, OK), record(0, 0, 4000, OK)];
        assert!((achieved_rate(&late, Duration::from_secs(1)) - 0.5).abs() < 1e-9);
        assert!(achieved_rate(&[], Duration::ZERO).abs() < 1e-9);
    }
}
