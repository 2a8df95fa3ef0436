//! The rows of a report: calls with the same outcome.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use shared::problem::Code;

use super::Quantiles;
use super::group::CallGroup;
use crate::driver::{CallError, CallOutcome, CallRecord};
use crate::scenario::ScenarioEvent;

/// The calls of a group with the same outcome.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The group of calls, in scenarios that have several.
    pub group: &'static str,
    /// The status, or `None` if there was no complete response.
    pub status: Option<u16>,
    /// The code of the problem, or the reason why there was no complete response.
    pub code: Option<String>,
    /// The number of calls.
    pub calls: usize,
    /// The latencies, counted from the due time of each call.
    pub latency_ms: Quantiles,
}

/// The part of an outcome that rows are grouped by. Failures sort before responses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowKey {
    Failed(CallError),
    Completed { status: u16, code: Option<&'static str> },
}

impl RowKey {
    fn new(outcome: CallOutcome) -> Self {
        match outcome {
            CallOutcome::Completed { status, code, .. } => {
                Self::Completed { status, code: code.map(Code::as_str) }
            }
            CallOutcome::Failed(error) => Self::Failed(error),
        }
    }

    const fn status(self) -> Option<u16> {
        match self {
            Self::Completed { status, .. } => Some(status),
            Self::Failed(_) => None,
        }
    }

    fn code(self) -> Option<String> {
        match self {
            Self::Completed { code, .. } => code.map(str::to_owned),
            Self::Failed(error) => Some(error.to_string()),
        }
    }
}

/// Returns the rows of a report, sorted by group, status and code.
pub(super) fn rows(records: &[CallRecord], event: &ScenarioEvent) -> Vec<Row> {
    let mut latencies: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
    for record in records {
        let key = (CallGroup::of(record, event), RowKey::new(record.outcome));
        latencies.entry(key).or_default().push(record.latency());
    }
    latencies
        .into_iter()
        .map(|((group, key), latencies)| Row {
            group: group.as_str(),
            status: key.status(),
            code: key.code(),
            calls: latencies.len(),
            latency_ms: Quantiles::new(latencies.into_iter()),
        })
        .collect()
}
